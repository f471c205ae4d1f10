package report

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The lines that keep it: plan_text.go, Text; text_lines.go, Listed; status_text.go, pinned.
func TestWhatAwaitsABootIsNamed(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("/etc/%d", i))
	}
	var plan, status strings.Builder
	if err := Text(&plan, &Plan{Network: "n", AwaitingBoot: names}, TextOptions{Brief: true}); err != nil {
		t.Fatal(err)
	}
	view := StatusView{Status: &Status{AwaitingBoot: names[:1]}}
	if err := StatusText(&status, view, StatusOptions{Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	const want = "awaiting boot: /etc/0, /etc/1, /etc/2, /etc/3, /etc/4, /etc/5, /etc/6, /etc/7 and 2 more\n"
	if !strings.Contains(plan.String(), want) {
		t.Errorf("the plan:\n%s", plan.String())
	}
	if !strings.Contains(status.String(), "awaiting boot: /etc/0\n") {
		t.Errorf("the status:\n%s", status.String())
	}
}
