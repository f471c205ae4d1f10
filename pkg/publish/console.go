package publish

import (
	"context"
	"fmt"
	"io"

	"github.com/netwright/netwright/pkg/report"
)

// Console writes to the console of a node that has not joined the cluster yet: neither metrics nor
// the API show such a node. It writes one line for each reason why the node is not prepared, and
// one when it is prepared, and then nothing more. The unit sends its standard output to the console
// and to the journal (StandardOutput=journal+console). journald does that, so the agent need not
// open a device. A daemon that starts again on a node that was prepared since the boot writes
// nothing.
type Console struct {
	Latest
	Out io.Writer

	printed int    // number of reasons
	last    string // the last reason, without its changing parts
}

// maxReasons is how many reasons Console writes for a node that is not prepared.
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

// line returns the line for a status; "": it was written before.
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
