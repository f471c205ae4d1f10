package cli

import (
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/publish"
)

// Logger is the log of what a daemon, or what systemd starts beside it, does: a line for each
// change. Without a format it goes to journald with its fields where the stream is the journal, and
// else as text.
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
	stream, isFile := to.(*os.File)
	journal := isFile && publish.ToJournal(stream, os.Getenv("JOURNAL_STREAM"))
	if !journal { // that has times of its own
		text.TimeKey = "time"
	}
	lines := zapcore.NewCore(zapcore.NewConsoleEncoder(text), zapcore.AddSync(to), level)
	if format == agentfile.LogText || !journal {
		return zap.New(lines)
	}
	text.LevelKey = ""
	core, err := publish.NewJournal(level, zapcore.NewConsoleEncoder(text), lines)
	if err != nil { // as text, then
		return zap.New(lines)
	}
	return zap.New(core)
}
