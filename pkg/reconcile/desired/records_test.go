package desired

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// A daemon keeps the set between its passes. The ledger's record of a task is not kept with it, but
// is made when it is asked for. The lines that keep it: records.go, Record and Of.
func TestRecordsAreMadeWhenSomebodyAsks(t *testing.T) {
	const files, most = 1000, 40 // bytes for each: two references to the task
	var list []tasks.Task
	for i := range files {
		content := blob.Of(fmt.Append(nil, i))
		list = append(list, tasks.File{Path: fmt.Sprintf("/etc/app/conf.d/%05d.conf", i), Stored: &content, Mode: 0o644})
	}
	list = append(list, tasks.WaitConf{Dir: "/etc/cni/net.d"}) // this task has no record
	g, err := graph.New(list, tasks.AsNodes{}, graph.Options{Parent: graph.PathParent})
	if err != nil {
		t.Fatal(err)
	}
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	r, err := Record(g)
	if err != nil {
		t.Fatal(err)
	}
	if each := (float64(live()) - float64(before)) / files; each > most {
		t.Errorf("%.0f bytes are kept for each file, want at most %d", each, most)
	}
	all := r.All()
	for i, task := range list[:files] {
		want, contents, err := tasks.Record(task)
		if err != nil {
			t.Fatal(err)
		}
		got, kept := r.Of(task.Owns()[0])
		if !kept || !cmp.Equal(want, got.Recorded) || !cmp.Equal(want, all[i].Recorded) || len(got.Contents) != len(contents) {
			t.Fatalf("%v, %v; want %v", got, kept, want)
		}
	}
	waits := list[files].Owns()[0]
	if _, kept := r.Of(waits); kept || len(all) != files || !r.Wants(waits) || r.Wants("file:/etc/other") {
		t.Error("a task without a record has one or is not wanted, or another key is wanted")
	}
}
