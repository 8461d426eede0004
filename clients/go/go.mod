module git.example/baton/clients/go

go 1.19
