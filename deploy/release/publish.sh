# shellcheck shell=bash disable=SC2154 # release.sh sets the rest
# The commands that publish a release; release.sh sources this file, and runs none of them.

publish_commands() {
    local url jar=$folder/baton-client-$version
    url=$(deploy/home.sh --url)
    cat <<END

Nothing has been published. These commands do it, for who has the accounts:

git tag --sign v$version && git tag --sign clients/go/v$version       # Go takes its module from the second
git push $url v$version clients/go/v$version
gpg --armor --detach-sign $folder/SHA256SUMS                          # attach all files to the tag; its text is RELEASE.md
twine upload $folder/baton_client-$version*                           # Python
npm publish $folder/baton-client-$version.tgz                         # Node
mvn gpg:sign-and-deploy-file -Durl=REPOSITORY -DrepositoryId=ID -DpomFile=$jar.pom \\
    -Dfile=$jar.jar -Dsources=$jar-sources.jar -Djavadoc=$jar-javadoc.jar
skopeo copy oci-archive:$folder/baton-$version-image.oci.tar docker://REGISTRY/baton:$version
reprepro --basedir REPOSITORY includedeb CODENAME $folder/baton*.deb  # Debian
END
    echo
}
