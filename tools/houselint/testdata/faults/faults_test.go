package faults

import "testing"

func TestUse(t *testing.T) { tested() }

func helper() {} // want "func helper is unused (U1000)"
