package faults // want "should have a package comment (ST1000)"

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/faults/old"
)

// Vet is for what `go vet` finds, by itself and by what it knows of another package.
func Vet() {
	fmt.Printf("%d\n", "text") // want "fmt.Printf format %d has arg" "wrong type string (SA5009)"
	old.Logf("%d\n", "text")   // want "faults/old.Logf format %d has arg"
}

// Static is for what staticcheck finds, by itself and by what it knows of other packages.
func Static(p *int, text string) int {
	old.New()               // want "old.New is deprecated: it is.  (SA1019)"
	old.Add(1, 2)           // want "Add doesn't have side effects and its return value is ignored (SA4017)"
	_ = strings.Title(text) // want "strings.Title has been deprecated since Go 1.18"
	if p == nil {
		old.Ends()
	}
	if text == "" {
		fmt.Print(*p)
	}
	for { // want "should use for range instead of for { select {} } (S1000)"
		select {
		case <-make(chan int):
		}
	}
}

// Wrong is another name. // want "should be of the form \"Other"
func Other() {}

func unused() {} // want "func unused is unused (U1000)"

func tested() {}

type kept struct {
	field int // want "field field is unused (U1000)"
	other int
}

var _ = kept{}.other

// Silent is for comments that silence a check.
func Silent() {
	//lint:ignore SA1019 somebody has to
	old.New()
	//lint:ignore SA1019 nobody has to // want "there is nothing for this comment to silence"
	old.Ends()
	//lint:ignore SA1019
	old.New() // want "old.New is deprecated: it is.  (SA1019)" above "this comment silences nothing"
}

// House is for a rule of ours.
func House() error {
	if err := error(nil); err != nil {
		return fmt.Errorf("it: %v", err) // want "use %w"
	}
	return nil
}
