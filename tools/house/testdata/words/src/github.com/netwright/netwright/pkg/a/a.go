package a // want `nothing needs the line of pkg/a.Gone in fieldsOwn`

type keptFile struct { // want `keptFile has the word "kept", which nobody looks for`
	held, cached int // want `held has the word "held"`
	After        int // want `After has the word "after"`
	RetryAfter   int
	What         string // on the list
}

type leaver interface {
	AsksOf(then int) // want `AsksOf has the word "asks"`
}

func (keptFile) isWoken() {} // want `isWoken has the word "woken"`

func NotHere() {} // want `NotHere has the word "not here"`

func WireGuard() { told := 1; _ = told } // within a function a word is free

func printAll() {}

const (
	inPlace = iota
	toldDNS // want `toldDNS has the word "told"`
)

var keeps2 = 0 // want `keeps2 has the word "keeps"`

//nolint:house words the name is an example
var debt int
