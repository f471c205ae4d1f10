package publish

import (
	"context"
	"fmt"
	"io"

	"github.com/netwright/netwright/pkg/report"
)

// Console tells whoever stands before a node that has not joined yet, and whom no metric and no API reaches: one line when the node is prepared, and one for each
// reason that it is not. After the first it says nothing more. The unit's standard output goes to the console as well as to the journal
// (StandardOutput=journal+console), which is journald's doing: no device need be open to the agent. A daemon that is started again on a node that was
// prepared since the boot has nothing to tell.
type Console struct {
	Latest
	Out io.Writer
}

// maxReasons is how many reasons are told of a node that is not prepared.
const maxReasons = 5

// Run tells until the node is prepared.
func (c *Console) Run(ctx context.Context) {
	told, last := 0, ""
	for {
		news, ok := c.Next(ctx)
		if !ok {
			return
		}
		s := news.Status
		switch {
		case s.Prepared:
			fmt.Fprintf(c.Out, "netwright: prepared, kubelet may start; %s\n", s.Line())
			return
		case s.State == report.NodeFailing && s.Reason != last && told < maxReasons:
			told, last = told+1, s.Reason
			fmt.Fprintf(c.Out, "netwright: not prepared; %s; log in and run: agent status\n", s.Line())
		}
	}
}
