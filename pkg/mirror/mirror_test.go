package mirror

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/statestore/assets"
	"github.com/netwright/netwright/pkg/statestore/directory"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

const cluster = "c.example.com"

// served has the files of a server, and the requests.
type served struct {
	*httptest.Server
	files map[string][]byte
	asked []string
}

func serve(t *testing.T, files map[string][]byte) *served {
	t.Helper()
	s := &served{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.URL.Path)
		if data, ok := s.files[r.URL.Path]; ok {
			w.Write(data)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// document returns a cluster whose plugins are for one or for two architectures.
func document(mirror string, sums map[string]archive.Checksum, urls map[string]string) string {
	text := "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + cluster + "}\nspec:\n" +
		"  kubernetesVersion: 1.36.0\n  podCIDR: 100.96.0.0/11\n  serviceClusterIPRange: 100.64.0.0/13\n" +
		"  networking: {flannel: {backend: vxlan}}\n" + mirror + "  assets:\n"
	for _, name := range []string{"cni-plugins", "flannel"} {
		text += "  - name: " + name + "\n    version: v1.9.1\n    arch:\n"
		for arch, url := range urls {
			text += fmt.Sprintf("      %s: {sha256: %s, urls: [%q]}\n", arch, sums[arch], strings.Replace(url, "NAME", name, 1))
		}
	}
	return text
}

// Each asset of each architecture is fetched once, and gets its name when its checksum is right. It
// is fetched again only if it is damaged. Nodes whose documents say so request it from the store
// then. The query of a URL, which may give access, is neither in the output nor in an error.
func TestCopy(t *testing.T) {
	content := map[string][]byte{"amd64": bytes.Repeat([]byte("amd64 "), 1000), "arm64": bytes.Repeat([]byte("arm64 "), 1000)}
	s := serve(t, map[string][]byte{"/v1/plugins-amd64.tgz": content["amd64"], "/v1/plugins-arm64.tgz": content["arm64"]})
	sums := map[string]archive.Checksum{"amd64": archive.ChecksumOf(content["amd64"]), "arm64": archive.ChecksumOf(content["arm64"])}
	urls := map[string]string{"amd64": s.URL + "/v1/plugins-amd64.tgz?token=x", "arm64": s.URL + "/v1/plugins-arm64.tgz?token=x"}
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, cluster, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copied := func() (*Copied, error) {
		t.Helper()
		store, err := stores.Open(dir, cluster, stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fetcher := assets.New(store)
		defer fetcher.Close()
		to, err := directory.NewWriter(dir, cluster)
		if err != nil {
			t.Fatal(err)
		}
		return Cluster{Store: store, To: to, Assets: fetcher, Archs: []string{"amd64", "arm64"}}.Copy(t.Context())
	}
	put("nodegroups/nodes.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: nodes}\nspec: {role: Node}\n")
	put("cluster.yaml", document("", sums, urls))
	out, err := copied()
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Assets) != 2 || !out.Assets[0].Fetched || !out.Assets[1].Fetched || len(s.asked) != 2 ||
		len(out.Unset) != 1 || out.Unset[0] != "node group nodes" {
		t.Errorf("copied %+v, asked for %q", out, s.asked)
	}
	if shown, err := json.Marshal(out); err != nil || strings.Contains(string(shown), "token=x") || !strings.Contains(string(shown), "/v1/plugins-amd64.tgz?") {
		t.Errorf("it shows %s, %v", shown, err)
	}
	for arch, want := range content {
		if got, err := os.ReadFile(filepath.Join(dir, cluster, "assets/v1/plugins-"+arch+".tgz")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("the copy for %s has %d bytes, %v", arch, len(got), err)
		}
	}

	// One asset is damaged, and the documents name the store.
	put("assets/v1/plugins-arm64.tgz", "damaged")
	put("cluster.yaml", document("  assetsMirror: assets\n", sums, urls))
	s.asked = nil
	out, err = copied()
	if err != nil || len(out.Unset) > 0 || len(s.asked) != 1 || s.asked[0] != "/v1/plugins-arm64.tgz" {
		t.Errorf("copied %+v, %v, asked for %q", out, err, s.asked)
	}

	// The server has another file: it does not get the name, and nothing of it is left.
	if err := os.Remove(filepath.Join(dir, cluster, "assets/v1/plugins-arm64.tgz")); err != nil {
		t.Fatal(err)
	}
	s.files["/v1/plugins-arm64.tgz"] = []byte("another")
	_, err = copied()
	names, _ := filepath.Glob(filepath.Join(dir, cluster, "assets/v1/*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, cluster, "assets/v1/.*"))
	if err == nil || !strings.Contains(err.Error(), "expected "+string(sums["arm64"])) || strings.Contains(err.Error(), "token=x") || len(names) != 1 || len(hidden) != 0 {
		t.Errorf("%v, and there are %q %q", err, names, hidden)
	}
}
