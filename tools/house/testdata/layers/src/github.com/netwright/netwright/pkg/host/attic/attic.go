package attic // want `package pkg/host/attic has no place below pkg/host: give it one in tools/house/layers.go`
