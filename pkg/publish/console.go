package publish

import (
	"context"
	"fmt"
	"io"

	"github.com/netwright/netwright/pkg/report"
)

// Console writes to the console of a node that has not joined yet: no metric and no API tells of
// such a node. It writes one line when the node is prepared, and one for each reason why it is not.
// After the first it says nothing more. The unit's standard output goes to the console as well as
// to the journal (StandardOutput=journal+console), which is journald's doing: no device need be
// open to the agent. A daemon that is started again on a node that was prepared since the boot
// writes nothing.
type Console struct {
	Latest
	Out io.Writer

	printed int    // reasons
	last    string // of them, without what is another each time
}

// maxReasons is how many reasons are written of a node that is not prepared.
const maxReasons = 5

// Run writes until the node is prepared.
func (c *Console) Run(ctx context.Context) {
	for {
		news, ok := c.Next(ctx)
		if !ok {
			return
		}
		if line := c.line(news.Status); line != "" {
			fmt.Fprintln(c.Out, line)
		}
		if news.Status.Prepared {
			return
		}
	}
}

// line is what is to be written of a status, "" if it was written already.
func (c *Console) line(s *report.Status) string {
	reason := report.Stable(s.Reason)
	switch {
	case s.Prepared:
		return "netwright: prepared, kubelet may start; " + s.Line()
	case s.State != report.NodeFailing || reason == c.last || c.printed == maxReasons:
		return ""
	}
	c.printed, c.last = c.printed+1, reason
	return "netwright: not prepared; " + s.Line() + "; log in and run: agent status"
}
