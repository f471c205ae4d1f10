package issue

import (
	"slices"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/pki"
)

// Two passes have the same note of an expired certificate. The status, which others read over the
// network, is published again for each other note.
func TestANoteHasNoPresentTime(t *testing.T) {
	ca := pki.New(t, "ca")
	set := tasks.CertificateSet{Meta: tasks.Meta{From: "test"}, Name: "app", Dir: "/etc/app",
		CA:   tasks.CertFile{Name: "ca.crt", PEM: []byte(ca.PEM)},
		Cert: tasks.CertFile{Name: "app.crt", PEM: []byte(ca.Client("app").Cert)}, Key: tasks.CertFile{Name: "app.key"}}
	g, err := graph.New([]tasks.Task{set}, tasks.AsNodes{}, graph.Options{Parent: graph.PathParent})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{time.Now().AddDate(100, 0, 0), time.Now().AddDate(-100, 0, 0)} {
		first, second := Ending(g, "node-1", at), Ending(g, "node-1", at.Add(time.Second))
		if len(first) == 0 || !slices.Equal(first, second) {
			t.Errorf("at %s: %v, then %v", at, first, second)
		}
	}
}
