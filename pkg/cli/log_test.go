package cli

import (
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// A line of the log has no field without a text. The line that keeps it: pkg/cli/log.go, Write.
func TestALineHasNoEmptyField(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	fields := []zap.Field{zap.String("origin", ""), zap.String("key", "link:cbr0"), zap.Int("repairs", 0)}
	Logger(&out, "text", zapcore.InfoLevel).Info("changed", fields...)
	if got := out.String(); !strings.HasSuffix(got, ` info changed {"key": "link:cbr0", "repairs": 0}`+"\n") {
		t.Errorf("the line is %q", got)
	}
	if fields[1].Key != "key" {
		t.Errorf("the caller's fields are changed: %v", fields)
	}
}
