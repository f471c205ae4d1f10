// Package old has what others are told of.
package old

import (
	"fmt"
	"os"
)

// New is old.
//
// Deprecated: it is.
func New() {}

// Logf prints.
func Logf(format string, args ...any) { fmt.Printf(format, args...) }

// Add computes.
func Add(a, b int) int { return a + b }

// Ends does not return.
func Ends() { os.Exit(1) } // want "os.Exit outside package main"
