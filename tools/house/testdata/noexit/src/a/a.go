package a

import (
	"log"
	"os"
)

func bad(err error) {
	log.Fatalf("x: %v", err) // want `log.Fatalf outside package main: return an error`
	os.Exit(1)               // want `os.Exit outside package main`
	panic(err)               // want `panic outside package main`
}

func good() {
	log.Print("x")
	defer func() { _ = recover() }()
	panic("x") //nolint:house noexit cannot happen, and the compiler wants an end
}
