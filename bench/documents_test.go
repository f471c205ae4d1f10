package bench

import (
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"strings"
)

// The benchmark puts these into the node.
const (
	home     = "/bench"
	storeDir = home + "/store"
	cluster  = "bench.example.com"
	group    = "nodes"
	nodeName = "node-1"
	listen   = "127.0.0.1:8099"
)

// inlined is how many small files the cluster's document contains. It names further ones by their
// directory in the store.
const inlined = 100

// documents returns the job as a state store's documents, by path in the node.
func (j job) documents() map[string]string {
	dir := path.Join(storeDir, cluster)
	documents := map[string]string{
		dir + "/cluster.yaml":                  j.clusterDocument(),
		dir + "/nodegroups/" + group + ".yaml": head("NodeGroup", group) + "spec: {role: Node}\n",
		dir + "/nodes/" + nodeName + ".yaml":   head("Node", nodeName) + "spec: {nodeGroup: " + group + "}\n",
	}
	if j.small > inlined {
		for _, f := range j.files {
			if path.Dir(f.path) == smallDir {
				documents[dir+"/files"+f.path] = f.content
			}
		}
	}
	return documents
}

// url returns the URL of the archive.
func (j job) url() string { return "http://" + listen + j.wire + "/" + j.archive.name() }

func head(kind, name string) string {
	return fmt.Sprintf("apiVersion: netwright.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\n", kind, name)
}

func (j job) clusterDocument() string {
	var out strings.Builder
	out.WriteString(head("Cluster", cluster))
	out.WriteString("spec:\n  kubernetesVersion: 1.33.0\n  networking: {cni: {}}\n  assets:\n  - name: cni-plugins\n    version: v1.9.1\n    members:\n")
	for _, m := range j.archive.Members {
		fmt.Fprintf(&out, "    - %s\n", m.Name)
	}
	fmt.Fprintf(&out, "    arch:\n      %s:\n        sha256: %s\n        urls: [%s]\n", runtime.GOARCH, j.archive.Sum, j.url())
	out.WriteString("  sysctlParameters:\n")
	for _, s := range j.sysctls {
		fmt.Fprintf(&out, "  - %q\n", s.key+"="+s.value)
	}
	out.WriteString("  fileAssets:\n")
	for _, f := range j.files {
		if path.Base(f.path) != j.unit && (path.Dir(f.path) != smallDir || j.small <= inlined) {
			fmt.Fprintf(&out, "  - path: %s\n    mode: \"%04o\"\n    owner: root:root\n    content: |\n%s", f.path, f.mode, indent(f.content, 6))
		}
	}
	if j.small > inlined {
		fmt.Fprintf(&out, "  - path: %s\n    source: files%s/\n    mode: \"0644\"\n    owner: root:root\n", smallDir, smallDir)
	}
	if j.unit != "" {
		out.WriteString("  hooks:\n")
	}
	for _, f := range j.files {
		if path.Base(f.path) == j.unit {
			fmt.Fprintf(&out, "  - name: %s\n    useRawManifest: true\n    manifest: |\n%s", j.unit, indent(f.content, 6))
		}
	}
	return out.String()
}

func indent(text string, by int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			out.WriteString(strings.Repeat(" ", by))
		}
		out.WriteString(line)
	}
	return out.String()
}

// manifest returns the job in the form that the limit reads.
func (j job) manifest() string {
	var out strings.Builder
	for _, f := range j.files {
		fmt.Fprintf(&out, "file %o %d %s\n%s", f.mode, len(f.content), f.path, f.content)
	}
	for _, m := range j.archive.Members {
		fmt.Fprintf(&out, "member 755 %d %s/%s\n%s", m.Size, binDir, m.Name, m.Sum)
	}
	for _, s := range j.sysctls {
		fmt.Fprintf(&out, "sysctl 0 %d %s\n%s", len(s.value), s.key, s.value)
	}
	if j.unit != "" {
		fmt.Fprintf(&out, "unit 0 0 %s\n", j.unit)
	}
	return out.String()
}

// description returns the job as JSON, for peers from outside of this repository.
func (j job) description() string {
	type jsonFile struct {
		Path    string `json:"path"`
		Mode    string `json:"mode"`
		Content string `json:"content"`
	}
	type jsonSysctl struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	var out struct {
		Archive struct {
			URL     string   `json:"url"`
			SHA256  string   `json:"sha256"`
			Dir     string   `json:"dir"`
			Members []member `json:"members"`
		} `json:"archive"`
		Files   []jsonFile   `json:"files"`
		Sysctls []jsonSysctl `json:"sysctls"`
		Service string       `json:"service"`
	}
	out.Archive.URL, out.Archive.SHA256, out.Archive.Dir, out.Archive.Members = j.url(), j.archive.Sum, binDir, j.archive.Members
	for _, f := range j.files {
		out.Files = append(out.Files, jsonFile{f.path, fmt.Sprintf("%04o", f.mode), f.content})
	}
	for _, s := range j.sysctls {
		out.Sysctls = append(out.Sysctls, jsonSysctl{s.key, s.value})
	}
	out.Service = j.unit
	data, err := json.Marshal(out)
	if err != nil {
		panic(err) // only strings
	}
	return string(data)
}
