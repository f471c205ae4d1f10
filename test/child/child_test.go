package child_test

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/test/child"
)

func TestKill(t *testing.T) {
	p, err := child.Start(exec.Command("sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	p.Kill()
	if p.Err() == nil || syscall.Kill(p.PID, 0) == nil {
		t.Errorf("it lives on: %v", p.Err())
	}
}

func TestThreadsComeAndGo(t *testing.T) {
	p, err := child.Start(exec.Command("sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for range 20 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		}()
		<-done
	}
	select {
	case <-p.Ended:
		t.Error("the child was killed with a thread that did not start it")
	case <-time.After(50 * time.Millisecond):
	}
}

// The test runs itself as the parent that is killed.
func TestDiesWithParent(t *testing.T) {
	if os.Getenv("CHILD_TEST_PARENT") != "" {
		p, err := child.Start(exec.Command("sleep", "1000"))
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("pid " + strconv.Itoa(p.PID) + "\n")
		select {}
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestDiesWithParent$")
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), "pid "))
	if err != nil {
		t.Fatal(err)
	}
	parent.Process.Kill()
	parent.Wait()
	for range 1000 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the child outlives its parent")
}
