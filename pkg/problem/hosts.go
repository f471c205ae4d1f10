package problem

// The errors of the machine.
const (
	Host ID = "host"
)

var hosts = []Row{
	{ID: Host, Means: "The machine refused a change, or its state could not be read.",
		Do: "Do what the message says; `agent explain KEY` shows what was wanted and why.", Page: "operations.md"},
}
