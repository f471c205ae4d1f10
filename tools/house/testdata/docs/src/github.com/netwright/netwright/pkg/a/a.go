// Package a has comments.
package a

// Kept is what it is.
type Kept struct{}

type Bare struct{} // want `Bare has no comment`

func Exported() {} // want `Exported has no comment`

func unexported() { Kept{}.Method(); renamed(); said() }

// Method needs none where an interface has it.
func (Kept) Method() {}

func (Kept) Error() string { return "" }

// former is a name that it had.
func renamed() {} // want `the comment of renamed begins with "former"`

// said: see [Kept].
func said() {}

// For any word that is not a name a sentence may begin so.
var limit = 3

var Limit = limit // bytes

var Limits = []int{ // want `Limits has no comment`
	Limit,
}

// These are of one kind.
const (
	First  = 1
	Second = 2
)
