package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/takeover"
)

// The output says that an empty sysctl is empty, as a plan does.
func TestEmptyValueIsSaid(t *testing.T) {
	var out bytes.Buffer
	printResources(&out, "is new", []takeover.Resource{{Key: "sysctl:net.ipv4.ip_local_reserved_ports",
		Fields: []report.Field{{Name: "value", After: "30000-32767"}}}})
	if want := "  sysctl:net.ipv4.ip_local_reserved_ports  none → 30000-32767\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q; want %q at its end", out.String(), want)
	}
}
