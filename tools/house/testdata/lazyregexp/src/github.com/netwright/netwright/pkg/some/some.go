package some

import (
	"regexp"

	"github.com/netwright/netwright/pkg/lazyregexp"
)

const part = "[a-z"

var early = regexp.MustCompile("a") // want `before main`

var fields = struct{ re *regexp.Regexp }{regexp.MustCompile("a")} // want `before main`

var (
	good  = lazyregexp.New("a")
	wrong = lazyregexp.New(part + "0-9") // want `panics at its first use`
	later = func() *regexp.Regexp { return regexp.MustCompile("a") }
)

func use(text string) bool { return regexp.MustCompile(text).MatchString("a") }
