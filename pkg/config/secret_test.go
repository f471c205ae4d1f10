package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/secret"
)

// A printed configuration has no secret in it.
func TestAConfigurationIsPrintedWithoutItsSecrets(t *testing.T) {
	const hidden = "hunter2"
	n := config.Node{
		FileAssets: []extras.FileAsset{{Name: "f", Content: blob.Of([]byte(hidden))}},
		Hooks:      []extras.Hook{{Name: "h", Manifest: secret.New("Environment=TOKEN=" + hidden)}},
		Assets:     []extras.Asset{{Name: "a", Arch: map[string]extras.AssetFile{"amd64": {SHA256: "0", URLs: []string{"https://u:" + hidden + "@h/x?sig=" + hidden}}}}},
	}
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(text), fmt.Sprint(n), fmt.Sprintf("%+v", n), fmt.Sprintf("%#v", n), fmt.Sprintf("%v", &n), fmt.Sprintf("%s", n.Hooks[0].Manifest), fmt.Sprintf("%x", n.FileAssets[0].Content)} {
		if strings.Contains(shown, hidden) || strings.Contains(shown, fmt.Sprintf("%x", hidden)) || strings.Contains(shown, "104 117 110") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
	if n.Hooks[0].Manifest.Reveal() != "Environment=TOKEN="+hidden {
		t.Error("the hook lost its text")
	}
}
