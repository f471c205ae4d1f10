package problem

// ID is the identifier of a kind of error: words of small letters, joined by hyphens.
type ID string

// Row is the section of one identifier.
type Row struct {
	ID      ID
	Means   string // what is wrong, in one sentence
	Do      string // what to do next, in one sentence or two
	Page    string // of docs/, where more of it stands; "" for none
	Warning bool   // it is only ever a warning
}
