package agentfile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/config/document"
)

func TestAgentFile(t *testing.T) {
	a, diags := Decode(document.Source{Path: "/etc/netwright/agent.yaml", Data: []byte(`# where, never what
store: s3://bucket/prefix
cluster: demo.example.com
nodeGroup: nodes
node: node-1
pin: b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303
trustedKeys: [RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3]
insecureUnsigned: true
interval: 90s
metrics: "[::1]:9100"
nodeStatus: off
peers:
  keyFile: /etc/netwright/peers.key
  ask: [10.0.0.1, "fd00::1"]
  answer: [10.0.0.0/16, fd00::/64]
`)})
	if len(diags) > 0 {
		t.Fatalf("a right file has errors: %v", diags)
	}
	if a.Store != "s3://bucket/prefix" || a.Cluster != "demo.example.com" || a.NodeGroup != "nodes" || a.Node != "node-1" || a.Interval != 90*time.Second ||
		len(a.Pin) != 64 || !a.InsecureUnsigned || len(a.TrustedKeys) != 1 || a.Metrics != "[::1]:9100" || a.NodeStatus != Off {
		t.Errorf("got %+v", a)
	}
	if got := fmt.Sprint(a.Peers); got != "{/etc/netwright/peers.key 19871 [10.0.0.1 fd00::1] [10.0.0.0/16 fd00::/64]}" {
		t.Errorf("peers %s", got)
	}
	if got := a.Origin("node").String(); got != "/etc/netwright/agent.yaml:5:1" {
		t.Errorf("node comes from %s", got)
	}
}

func TestAgentFileEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing yet\n", "---\n"} {
		if a, diags := Decode(document.Source{Path: "agent.yaml", Data: []byte(text)}); a == nil || len(diags) > 0 {
			t.Errorf("%q: Decode returns %v", text, diags)
		}
	}
}

func TestAgentFileBad(t *testing.T) {
	nine := strings.Repeat("10.0.0.1, ", 8) + "10.0.0.1"
	for text, want := range map[string]string{
		"stor: /x":                              `agent.yaml:1:1: unknown field "stor"`,
		"store: relative":                       `agent.yaml:1:8: store is the string "relative"`,
		"store: https://me:hunter2@host/x":      `agent.yaml:1:8: store is the string "https://**********@host/x"`,
		"interval: 5":                           `agent.yaml:1:11: interval is 5`,
		"interval: 1ms":                         `agent.yaml:1:11: interval is the string "1ms"`,
		"pin: latest":                           `agent.yaml:1:6: pin is the string "latest"`,
		"trustedKeys: [ssh-ed25519]":            `agent.yaml:1:15: trustedKeys[0] is the string "ssh-ed25519"`,
		"metrics: 9100":                         `agent.yaml:1:10: metrics is 9100`,
		"metrics: :9100":                        `agent.yaml:1:10: metrics is the string ":9100"`,
		"metrics: 127.0.0.1:0":                  `agent.yaml:1:10: metrics is the string "127.0.0.1:0"`,
		"nodeStatus: false":                     `agent.yaml:1:13: nodeStatus is false`,
		"node: Node_1":                          `agent.yaml:1:7: node is the string "Node_1"`,
		"- store: /x":                           `agent.yaml:1:1: the document is a list`,
		"store: /x\nstore: /y":                  `agent.yaml:2:1: field "store" is set twice`,
		"networking: {bridge: {}}\nstore: /x\n": `agent.yaml:1:1: unknown field "networking"`,

		"peers: {ask: [10.0.0.1]}":                          `agent.yaml:1:8: peers has no keyFile`,
		"peers: {keyFile: /k}":                              `agent.yaml:1:8: peers neither asks nor answers`,
		"peers: {keyFile: /k, ask: [node-2]}":               `agent.yaml:1:28: peers.ask[0] is the string "node-2"`,
		"peers: {keyFile: /k, ask: [127.0.0.1]}":            `agent.yaml:1:28: peers.ask[0] is the string "127.0.0.1"`,
		"peers: {keyFile: /k, answer: [10.0.0.1]}":          `agent.yaml:1:31: peers.answer[0] is the string "10.0.0.1"`,
		"peers: {keyFile: /k, port: 0, answer: [fd00::/8]}": `agent.yaml:1:28: peers.port is 0`,
		"peers: {keyFile: /k, ask: [" + nine + "]}":         `agent.yaml:1:8: peers asks 9 peers`,
		"peers: {key: x, keyFile: /k, ask: [fd00::1]}":      `agent.yaml:1:9: unknown field "key"`,
	} {
		a, diags := Decode(document.Source{Path: "agent.yaml", Data: []byte(text)})
		if got, _, _ := strings.Cut(diags.String(), "\n"); !strings.HasPrefix(got, want+" [") || a != nil {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if strings.Contains(diags.String(), "hunter2") {
			t.Errorf("a password is shown:\n%s", diags)
		}
	}
}
