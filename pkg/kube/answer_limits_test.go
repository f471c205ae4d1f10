package kube

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// An answer without an end is cut off, whatever it is about, and the error says so.
func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	var sent atomic.Int64
	c := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "`)
		for piece := []byte(strings.Repeat("n", 64<<10)); ; {
			n, err := w.Write(piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	_, err := c.Node(t.Context(), "n")
	if err == nil || !strings.Contains(err.Error(), "the answer is larger than the limit of 8 MiB") {
		t.Errorf("a Node: %v", err)
	}
	if _, _, err := c.Nodes(t.Context()); err == nil || !strings.Contains(err.Error(), "the answer is larger than the limit of 8 MiB") {
		t.Errorf("all Nodes: %v", err)
	}
	if got, most := sent.Load(), int64(16*maxAnswer); got > most {
		t.Errorf("%d MiB were sent, want %d or less", got>>20, most>>20)
	}
}

// A page of very large Nodes is requested again with fewer Nodes, until it fits.
func TestALargePageIsReadInParts(t *testing.T) {
	const all, size = 300, 60 << 10
	filler := strings.Repeat("x", size)
	c := server(t, "token: secret", func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		to, next := min(from+limit, all), ""
		if to < all {
			next = strconv.Itoa(to)
		}
		var items []string
		for i := from; i < to; i++ {
			items = append(items, fmt.Sprintf(`{"metadata": {"name": "n%d", "annotations": {"a": %q}}}`, i, filler))
		}
		say(w, http.StatusOK, fmt.Sprintf(`{"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "7", "continue": %q}, "items": [%s]}`, next, strings.Join(items, ",")))
	})
	nodes, version, err := c.Nodes(t.Context())
	if err != nil || len(nodes) != all || version != "7" || nodes[all-1].Name != fmt.Sprint("n", all-1) {
		t.Errorf("%d Nodes, version %q, %v", len(nodes), version, err)
	}
}
