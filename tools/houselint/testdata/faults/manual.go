//go:build manual

package faults // want "should have a package comment (ST1000)"

func manual() {} // want "func manual is unused (U1000)"
