package problem

// ID is the identifier of a kind of error: lower-case words, joined by hyphens.
type ID string

// Row is the section of one identifier.
type Row struct {
	ID      ID
	Means   string // what is wrong, in one sentence
	Do      string // what to do next, in one sentence or two
	Page    string // in docs/, with more about it; "" for none
	Warning bool   // it is always a warning
}
