package cli

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/publish"
)

// Logger returns the log of the daemon and of the programs that systemd starts beside it: one line
// for each change. Without a format it writes journald entries with fields where the stream is the
// journal, and text elsewhere.
func Logger(to io.Writer, format string, level zapcore.Level) *zap.Logger {
	text := zapcore.EncoderConfig{
		MessageKey: "msg", LevelKey: "level", LineEnding: "\n", ConsoleSeparator: " ",
		EncodeLevel: zapcore.LowercaseLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder,
		EncodeTime: zapcore.RFC3339NanoTimeEncoder,
	}
	if format == agentfile.LogJSON {
		text.TimeKey = "time"
		return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(text), zapcore.AddSync(to), level))
	}
	journal := ToJournal(to)
	if !journal { // journald adds times itself
		text.TimeKey = "time"
	}
	lines := zapcore.NewCore(zapcore.NewConsoleEncoder(text), zapcore.AddSync(to), level)
	if format == agentfile.LogText || !journal {
		return zap.New(lines)
	}
	text.LevelKey = ""
	core, err := publish.NewJournal(level, zapcore.NewConsoleEncoder(text), lines)
	if err != nil { // log as text instead
		return zap.New(lines)
	}
	return zap.New(core)
}
