package problem

// Of command lines, and of what has no identifier of its own.
const (
	Usage ID = "usage"
	Other ID = "other"
)

var commands = []Row{
	{ID: Usage, Means: "The command line is not one that the agent knows.", Do: "Do what the message says; `agent COMMAND --help` shows what there is.", Page: "reference/commands.md"},
	{ID: Other, Means: "An error without a section of its own.", Do: "Do what the message says. If it says nothing, report it with `agent support`.", Page: "operations.md"},
}
