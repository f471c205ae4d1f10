package a

import "fmt"

const most = 10

func say(string, ...any) {}

func _(n int, who string) {
	_ = fmt.Sprintf("%d keys", n)             // want `"%d keys" writes "1 keys"`
	_ = fmt.Errorf("%s: %d more lines, and "+ //
		"%d files", who, n, n) // want `"%d lines" writes` `"%d files" writes`
	say("tried %d times", n)                     // want `"%d times" writes "1 times"`
	say("at most %d entries, %d bytes", most, n) // a constant is not one; bytes are a unit
	say("line %d has no key, generation %d is right", n, n)
	say("%d keys%%")
	_ = fmt.Sprintf("%d keys", n) //nolint:house plurals two or more
}
