package pages

import (
	"fmt"

	"github.com/netwright/netwright/pkg/problem"
)

// Errors returns the page of every identifier that an error may have.
func Errors() string {
	w := &writer{}
	w.para("<!-- Generated from pkg/problem: `go test ./test/pages -update` writes it. -->")
	w.para("# Every error")
	w.para("An error ends with its identifier in brackets, such as `[field-unknown]`. In the JSON output of a check the identifier is the field `id`. An identifier stays the same in all releases; the text beside it may change. The error itself says what is wrong, where, and which value was expected.")
	for _, p := range problem.All() {
		w.para("## %s", p.Title)
		for _, r := range p.Rows {
			w.para("### %s", string(r.ID))
			kind := ""
			if r.Warning {
				kind = " It is only a warning."
			}
			more := ""
			if r.Page != "" {
				more = fmt.Sprintf(" More: [%s](../%s).", r.Page, r.Page)
			}
			w.para("%s%s %s%s", r.Means, kind, r.Do, more)
		}
	}
	return w.String()
}
