package extras

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestURLsInJSONHaveNoCredentials(t *testing.T) {
	f := AssetFile{URLs: []string{"https://bucket.example.com/a.tgz?X-Amz-Signature=abc"}}
	got, err := json.Marshal(f)
	if err != nil || strings.Contains(string(got), "abc") || !strings.Contains(string(got), "/a.tgz?***") {
		t.Errorf("Marshal returns %s, %v", got, err)
	}
	if !strings.HasSuffix(f.URLs[0], "abc") {
		t.Error("the URL itself was changed")
	}
}
