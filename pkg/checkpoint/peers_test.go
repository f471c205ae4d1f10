package checkpoint

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"testing"

	"github.com/netwright/netwright/test/netns"
)

// A change is undone if peers no longer reach a port. The generation is bad if they reach the port
// after the undo. Peers that do not answer cause no undo. The lines that keep it: finish.go, prove
// (AwaitTraffic); undo.go, undo (Recovered); pkg/checkpoint/probe/comparison.go, Before
// (findReached).
func TestPeersJudgeAChange(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	l, err := net.Listen("tcp", ":22")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reach, miss := map[string][]string{"a": {"tcp4:22"}}, map[string][]string{"a": nil}
	for name, c := range map[string]struct {
		after, undone map[string][]string // answers of the peers
		stays, bad    bool
		proved        bool
	}{
		"it is reached":                     {reach, nil, true, false, true},
		"it is not, and is again":           {miss, reach, false, true, false},
		"it is not, and nobody says better": {miss, map[string][]string{}, false, false, false},
		"nobody says anything":              {map[string][]string{}, nil, true, false, false},
	} {
		_ = os.Remove(VerdictFile)
		before := reach
		s := settings()
		s.Probes, s.Inbound = nil, func(_ context.Context, _ []uint16, _ []string, done func(map[string][]string) bool) (map[string][]string, error) {
			said := before
			if text, err := os.ReadFile("/etc/nw/content"); err != nil || string(text) != "was" {
				said, before = c.after, c.undone // for the next turn
			}
			done(said)
			return said, nil
		}
		point, err := Take(t.Context(), h, Change{Generation: 7, Digest: "d7", Keys: changed}, s)
		if err == nil {
			err = point.Arm(t.Context())
		}
		if err != nil {
			t.Fatalf("%s: Take returns %v", name, err)
		}
		netns.Shell(t, "printf other >/etc/nw/content")
		err = point.Finish(t.Context(), nil)
		var undone *UndoneError
		if stays := !errors.As(err, &undone); stays != c.stays || stays && err != nil {
			t.Fatalf("%s: Finish returns %v", name, err)
		}
		if !c.stays {
			if v := undone.Verdict; v.Bad != c.bad || v.Why != "inbound:tcp4:22 (no connection any more from: a)" {
				t.Errorf("%s: got %+v", name, v)
			}
			unchanged(t, was, VerdictFile)
			continue
		}
		if proved := slices.Contains(point.Proof().Probes, "inbound:tcp4:22"); proved != c.proved || proved == slices.Contains(point.Proof().Missing, "inbound") {
			t.Errorf("%s: point.Proof() is %+v", name, point.Proof())
		}
		netns.Shell(t, "printf was >/etc/nw/content")
		unchanged(t, was)
	}
}
