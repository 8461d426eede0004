# shellcheck shell=bash disable=SC2154 # release.sh sets the rest
# The client libraries as their registries take them; release.sh sources this file.

# Sets `client`, with what the archive needs beside the client itself. In its README, links that lead out of the folder
# lead to the project.
client_folder() { # NAME
    client=$work/baton/clients/$1
    cp LICENSE "$client"
    sed -i "s|](\.\./[^)]*)|]($(deploy/home.sh --url))|g" "$client/README.md"
}

# Wheel and sdist. The tool of Python keeps the time of its run in the second, so that is packed again.
python() {
    local name=baton_client-$version
    client_folder python
    quietly env -C "$client" /usr/bin/python3 -c "from setuptools import build_meta as build
build.build_sdist('$work/python')
build.build_wheel('$out')"
    mkdir "$work/python/$name"
    tar -xzf "$work"/python/*.tar.gz -C "$work/python/$name" --strip-components=1
    pack_tar "$out/$name.tar.gz" "$work/python" "$name"
}

node() {
    client_folder node
    quietly npm pack "$client" --pack-destination "$out" --offline --no-update-notifier
}

# The jar, those of the sources and of the javadoc, and the POM, which a repository of Maven wants together.
java() {
    local jar=$out/baton-client-$version sources=$work/baton/clients/java/src/main/java
    local files=$work/java/files classes=$work/java/classes javadoc=$work/java/javadoc folder
    mkdir -p "$classes" "$javadoc"
    find "$sources" -name '*.java' | sort >"$files"
    quietly javac --release 17 -d "$classes" "@$files"
    quietly javadoc -quiet -notimestamp -Xdoclint:none --release 17 -d "$javadoc" "@$files"
    for folder in "$classes" "$sources" "$javadoc"; do
        mkdir "$folder/META-INF"
        cp LICENSE "$folder/META-INF"
        printf '%s\n' 'Manifest-Version: 1.0' 'Automatic-Module-Name: baton.client' "Implementation-Version: $version" '' \
            >"$folder/META-INF/MANIFEST.MF"
    done
    pack_zip "$jar.jar" "$classes"
    pack_zip "$jar-sources.jar" "$sources"
    pack_zip "$jar-javadoc.jar" "$javadoc"
    cp clients/java/pom.xml "$jar.pom"
}

# A folder that serves as a proxy of modules: GOPROXY=file://…/go has the module. In a path there, a capital letter is ! and
# the small one. The files are those that Go takes from the tag, so they have the same sum.
go() {
    local module place prefix
    module=$(deploy/home.sh --module)
    # shellcheck disable=SC2001
    place=$out/go/$(sed 's/[A-Z]/!\L&/g' <<<"$module")/@v
    prefix=$work/go/$module@v$version
    mkdir -p "$place" "$(dirname "$prefix")"
    cp -R clients/go "$prefix"
    cp LICENSE "$prefix"
    echo "v$version" >"$place/list"
    printf '{"Version":"v%s","Time":"%s"}\n' "$version" "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" >"$place/v$version.info"
    cp clients/go/go.mod "$place/v$version.mod"
    pack_zip "$place/v$version.zip" "$work/go"
}
