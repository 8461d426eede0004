module baton.example/client

go 1.19
