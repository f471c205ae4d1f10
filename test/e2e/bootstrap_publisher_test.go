package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// publisher is the machine of a person who publishes: it has the agent's command line, a key for
// signatures, and the program that mirrors serve.
type publisher struct {
	t       *testing.T
	dir     string // for files that it makes
	key     string // the file of the private key
	trusted string // the public key, as agent.yaml has it
	program []byte
	env     []string
}

// newPublisher makes the key. env is added to the agent's environment.
func newPublisher(t *testing.T, env ...string) *publisher {
	t.Helper()
	p := &publisher{t: t, dir: t.TempDir(), env: env}
	p.key = filepath.Join(p.dir, "k.key")
	p.run("store", "keygen", "--out", strings.TrimSuffix(p.key, ".key"))
	lines := strings.Fields(p.read(filepath.Join(p.dir, "k.pub")))
	p.trusted, p.program = lines[len(lines)-1], []byte(p.read(agent(t)))
	return p
}

// run runs the agent and returns its output.
func (p *publisher) run(args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), agent(p.t), args...)
	cmd.Env = append(os.Environ(), p.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("agent %q: %v: %s", args, err, out)
	}
	return string(out)
}

// userData returns the user-data of a machine that takes the program from the mirror.
func (p *publisher) userData(args ...string) string {
	p.t.Helper()
	return p.run(append([]string{"user-data", "--url", mirror + "/netwright", "--sha256", fmt.Sprintf("%s=%x", runtime.GOARCH, sha256.Sum256(p.program))}, args...)...)
}

func (p *publisher) read(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}
