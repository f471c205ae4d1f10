package reconcile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/remote"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/pki"
)

// A store gives a worker the private key of a CA. The agent refuses it, by the name of its file. On
// a control plane the key may be in its own place, and a client's key may be anywhere.
func TestKeyOfACAOnAWorker(t *testing.T) {
	ca := pki.New(t, "etcd-ca")
	b := newIssueBench(t, ca, ownEntry)
	client := ca.Client("own")
	hostroot.Put(t, b.dir, "demo/pki/issued/client/1.crt", client.Cert)
	hostroot.Put(t, b.dir, "demo/pki/private/client/1.key", client.Key)
	if d := b.load(); len(d.Refused) > 0 || d.Keypairs["etcd-ca"].Key.IsZero() {
		t.Errorf("on a control plane: %q", d.Refused)
	}
	hostroot.Put(t, b.dir, "demo/nodegroups/masters.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: masters}\nspec: {role: Node}\n")
	d := b.load()
	said := strings.Join(d.Refused, "\n")
	for _, want := range []string{"the private key of the CA etcd-ca is refused", "this node's role is Node", "pki/private/etcd-ca/", "move the key where workers cannot read"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
	if len(d.Refused) != 1 || strings.Contains(said, "PRIVATE KEY") {
		t.Errorf("on a worker: %q", said)
	}
	for name, p := range d.Keypairs {
		if !p.Key.IsZero() {
			t.Errorf("the key of %s is still there", name)
		}
	}
	plan, err := b.pass.Converge(t.Context(), d)
	if err != nil || plan.Summary.Failed > 0 || plan.Summary.Right == 0 {
		t.Errorf("the rest of the node: %+v, %v", plan, err)
	}
	if !slices.ContainsFunc(plan.Notes, func(n report.Note) bool { return n.Level == "error" && n.Text == said }) {
		t.Errorf("notes %v", plan.Notes)
	}
	if names := having(t, b.root, ca.Key()); len(names) > 0 {
		t.Errorf("%q have the key", names)
	}
}

// having returns the files below a directory that contain a text.
func having(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if bytes.Contains(data, []byte(text)) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// An earlier release kept a whole directory for the time without its store, with the private key of
// a CA. The next pass keeps it again without the key, and removes the former copy.
func TestKeyOfACAThatAnEarlierReleaseKept(t *testing.T) {
	ca := pki.New(t, "etcd-ca")
	b := newIssueBench(t, ca, ownEntry)
	hostroot.Put(t, b.dir, "demo/nodegroups/masters.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: masters}\nspec: {role: Node}\n")
	b.converge()
	const state, lastGood = "/var/lib/netwright", "/var/lib/netwright/last-good.json"
	var good ledger.LastGood
	if err := json.Unmarshal([]byte(hostroot.Read(t, b.root, lastGood)), &good); err != nil {
		t.Fatal(err)
	}
	now := good
	all := b.load().Snapshot.Objects
	content := blob.Of(remote.Pack(all))
	good.Objects, good.Names = content.Sum, len(all)
	packed, err := content.Bytes()
	text, err2 := json.Marshal(good)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	hostroot.Put(t, b.root, state+"/blobs/"+content.Sum.String(), string(packed))
	hostroot.Put(t, b.root, lastGood, string(text))
	if names := having(t, b.root+state, ca.Key()); len(names) != 1 {
		t.Fatalf("as an earlier release left it: %q have the key", names)
	}
	b.converge()
	if names := having(t, b.root+state, ca.Key()); len(names) > 0 {
		t.Errorf("%q still have the key", names)
	}
	if err := json.Unmarshal([]byte(hostroot.Read(t, b.root, lastGood)), &good); err != nil || good.Objects != now.Objects || good.Names != len(all)-1 {
		t.Errorf("%+v, %v, want %+v", good, err, now)
	}
	store, err := stores.Open(b.dir, "demo", stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := b.pass.Rollout().LastGood(t.Context(), store, config.Select{Node: "m-1", Group: "masters"}, fs.ErrNotExist); err != nil || d.Keypairs["etcd-ca"].Cert == nil {
		t.Errorf("what is kept cannot be used: %v", err)
	}
}

// A check of a published store names the private keys of CAs that every node can read, and no
// others.
func TestCheckNamesExposedKeys(t *testing.T) {
	const name = "pki/private/etcd-ca/1.key"
	ca := pki.New(t, "etcd-ca")
	b := newIssueBench(t, ca, ownEntry)
	client := ca.Client("own")
	hostroot.Put(t, b.dir, "demo/pki/issued/client/1.crt", client.Cert)
	hostroot.Put(t, b.dir, "demo/pki/private/client/1.key", client.Key)
	objects := maps.Clone(b.load().Snapshot.Objects)
	for where, c := range map[string]struct {
		documents          bool
		controlPlane, want []string
	}{
		"a directory of documents":      {true, nil, nil},
		"as earlier releases published": {false, nil, []string{name}},
		"as this one publishes":         {false, []string{name}, nil},
	} {
		dir := b.dir
		if !c.documents {
			dir = t.TempDir()
			sink, err := stores.OpenDestination(dir, "demo", stores.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := publisher.Publish(t.Context(), sink, publisher.Publication{Cluster: "demo", Objects: objects, ControlPlane: c.controlPlane, Now: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		store, err := stores.Open(dir, "demo", stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if checked, err := check.Check(t.Context(), store, check.DefaultFacts()); err != nil || !checked.OK() || !slices.Equal(checked.Exposed, c.want) {
			t.Errorf("%s: %+v, %v, want %q", where, checked, err, c.want)
		}
	}
}

// Publishing takes only those private keys of a directory that a node uses. It takes the private
// key of a CA only if a control plane node signs with it.
func TestKeysThatNobodyUsesAreWithheld(t *testing.T) {
	ca, cluster := pki.New(t, "etcd-ca"), pki.New(t, "kubernetes-ca")
	b := newIssueBench(t, ca, ownEntry)
	hostroot.Put(t, b.dir, "demo/pki/private/kubernetes-ca/keyset.yaml", pki.Keyset("1", pki.Pair{Cert: cluster.PEM, Key: cluster.Key()}))
	hostroot.Put(t, b.dir, "demo/pki/private/service-account/1.key", ca.Client("sa").Key)
	hostroot.Put(t, b.dir, "demo/nodegroups/nodes.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: nodes}\nspec: {role: Node}\n")
	withheld := func() (keysets, left []string) {
		t.Helper()
		store, err := stores.Open(b.dir, "demo", stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checked, err := check.Check(t.Context(), store, check.DefaultFacts())
		if err != nil || !checked.OK() {
			t.Fatalf("Check returns %v, %+v", err, checked)
		}
		objects := map[string][]byte{}
		err = fs.WalkDir(os.DirFS(b.dir+"/demo"), ".", func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				objects[name], err = os.ReadFile(filepath.Join(b.dir, "demo", name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		keysets = checked.Withhold(objects)
		for name := range objects {
			if strings.HasPrefix(name, "pki/private/") {
				left = append(left, name)
			}
		}
		return keysets, left
	}
	if keysets, left := withheld(); !slices.Equal(keysets, []string{"kubernetes-ca", "service-account"}) || !slices.Equal(left, []string{"pki/private/etcd-ca/1.key"}) {
		t.Errorf("withheld %q, left %q", keysets, left)
	}
	hostroot.Put(t, b.dir, "demo/nodegroups/masters.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: masters}\nspec: {role: ControlPlane}\n")
	if keysets, left := withheld(); len(keysets) != 3 || len(left) > 0 {
		t.Errorf("no node signs with the key: withheld %q, left %q", keysets, left)
	}
}
