package publish

import (
	"context"
	"fmt"
	"io"

	"github.com/netwright/netwright/pkg/report"
)

// Console tells whoever stands before a node that has not joined yet, and whom no metric and no API reaches: one line when the node is prepared, and one for each
// reason that it is not. After the first it says nothing more. The unit's standard output goes to the console as well as to the journal
// (StandardOutput=journal+console), which is journald's doing: no device need be open to the agent.
type Console struct {
	Latest
	Out io.Writer
	// Prepared says that the node was prepared since the boot already, by a daemon before this one: then there is nothing to tell.
	Prepared bool
}

// maxReasons is how many reasons are told of a node that is not prepared.
const maxReasons = 5

// Run tells until the node is prepared.
func (c *Console) Run(ctx context.Context) {
	told, last := 0, ""
	for !c.Prepared {
		news, ok := c.Next(ctx)
		if !ok {
			return
		}
		s := news.Status
		switch {
		case s.Prepared:
			fmt.Fprintf(c.Out, "netwright: %s: prepared, kubelet may start; %s\n", s.Node, s.Line())
			return
		case s.State == report.NodeFailing && s.Reason != last && told < maxReasons:
			told, last = told+1, s.Reason
			fmt.Fprintf(c.Out, "netwright: not prepared; %s; log in and run: agent status\n", s.Line())
		}
	}
}
