package changes

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
)

// A line end in a name causes no new line of the message. Each of the joined errors has a line of
// its own.
func TestANameMakesNoLine(t *testing.T) {
	const name = "/etc/cni/net.d/00-a\nnetwright: prepared\n"
	denied := &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	const quoted = `/etc/cni/net.d/00-a\nnetwright: prepared\n`
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("one line"), "one line"},
		{denied, "open " + quoted + ": permission denied"},
		{graph.Wait("bridge: " + name + " is not valid yet"), "bridge: " + quoted + " is not valid yet"},
		{fmt.Errorf("%s comes before 05.conf and is broken (%w): remove it", name, denied),
			quoted + " comes before 05.conf and is broken (open " + quoted + ": permission denied): remove it"},
		{errors.Join(errors.New("first"), denied, errors.New("last")), "first\nopen " + quoted + ": permission denied\nlast"},
		{fmt.Errorf("no URL gave the right archive:\n%w\nput it there", errors.Join(errors.New("from a: "+name), errors.New("from b: 404"))),
			"no URL gave the right archive:\nfrom a: " + quoted + "\nfrom b: 404\nput it there"},
		{problem.Host.Missing("say it in\nother words"), `say it in\nother words [host]`},
	} {
		if got := messageOf(c.err); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}
