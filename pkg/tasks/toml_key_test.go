package tasks

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/netwright/netwright/pkg/host"
)

var cniTable = []string{"plugins", "io.containerd.grpc.v1.cri", "cni"}

func TestTOMLKey(t *testing.T) {
	h, root := onDisk(t)
	file := root + "/config.toml"
	key := TOMLKey{Path: "/config.toml", Table: cniTable, Key: "conf_dir", Value: "/etc/cni/net.d"}
	wantError(t, key, h.Live.View(), "the file does not exist")
	before := "version = 2\n"
	ok(t, os.WriteFile(file, []byte(before), 0o640), os.Chown(file, 12, 34))
	c := converge(t, h, key)
	wantLines(t, c, `+ toml:/config.toml#plugins."io.containerd.grpc.v1.cri".cni.conf_dir, value →"/etc/cni/net.d"`)
	key.Value = "/etc/cni/other"
	wantLines(t, converge(t, h, key), `~ toml:/config.toml#plugins."io.containerd.grpc.v1.cri".cni.conf_dir, value "/etc/cni/net.d"→"/etc/cni/other"`)
	wantFile(t, file, "version = 2\n\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = \"/etc/cni/other\"\n", 0o640, 12)

	pending := host.NewPending(nil)
	pending.Add(host.Fact{Key: "file:/config.toml"})
	if c := plan(t, key, pending.Over(h.Live.View())); c == nil || c.Unknown != "until file:/config.toml is written" {
		t.Errorf("plan returns %+v", c)
	}
	key.Value = 1.5
	wantError(t, key, h.Live.View(), "float64 cannot be written")
}

func TestTOMLKeysOfOneFileAtATime(t *testing.T) {
	h, root := onDisk(t)
	ok(t, os.WriteFile(root+"/c.toml", nil, 0o644))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			key := TOMLKey{Path: "/c.toml", Table: []string{"t"}, Key: fmt.Sprint("k", i), Value: int64(i)}
			if err := key.Apply(t.Context(), h, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(root + "/c.toml")
	ok(t, err)
	var got struct{ T map[string]int }
	ok(t, toml.Unmarshal(text, &got))
	if len(got.T) != 20 {
		t.Errorf("text is %s", text)
	}
}
