package toxic

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"
)

// Status answers with a status and no object. after is Retry-After in seconds; 0: none.
func Status(code, after int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(after))
		}
		http.Error(w, "no", code)
	}
}

// Late answers after a while.
func Late(by time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		time.Sleep(by)
		honest.ServeHTTP(w, r)
	}
}

// Reset resets the connection before an answer.
func Reset(w http.ResponseWriter, _ *http.Request, _ http.Handler) { reset(w) }

// Half sends half of a body of which it said the whole length, and resets the connection.
func Half(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	reset(w)
}

// Short sends half of a body as if it were all.
func Short(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)/2))
	_, _ = w.Write(body[:len(body)/2])
}

// Long sends more than the object has, and more than any has, without a length.
func Long(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	for range 5 << 20 / (len(body) + 1) {
		if _, err := w.Write(body); err != nil {
			return
		}
	}
}

// Swapped sends other bytes of the same length, under the same ETag.
func Swapped(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	for i := range body {
		body[i] ^= 1
	}
	_, _ = w.Write(body)
}

// Unmodified says of everything that it is as it was.
func Unmodified(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusNotModified)
}

// NewETags gives an ETag that nobody has seen with each answer, and heeds none.
func NewETags(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	w.Header().Set("ETag", fmt.Sprintf("\"%d\"", time.Now().UnixNano()))
	_, _ = w.Write(body)
}

// NoETags gives none.
func NoETags(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	body := taken(w, r, honest)
	w.Header().Del("ETag")
	_, _ = w.Write(body)
}

// Portal is the page of a network that wants a person to log in.
func Portal(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "<html><body>Welcome to the hotel</body></html>")
}

// Elsewhere sends on to another place.
func Elsewhere(to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, to, http.StatusFound)
	}
}

// Objects has a fault for everything but the manifest.
func Objects(f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if len(r.URL.Path) > len("/manifest") && r.URL.Path[len(r.URL.Path)-len("/manifest"):] == "/manifest" {
			honest.ServeHTTP(w, r)
			return
		}
		f(w, r, honest)
	}
}

// taken is the body of the honest answer to a request without a condition, whose headers w gets.
func taken(w http.ResponseWriter, r *http.Request, honest http.Handler) []byte {
	rec := httptest.NewRecorder()
	all := r.Clone(r.Context())
	all.Header.Del("If-None-Match")
	honest.ServeHTTP(rec, all)
	for name, values := range rec.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	return rec.Body.Bytes()
}

// Instead answers with what somebody else has: another store, or what this one had once.
func Instead(other http.Handler) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) { other.ServeHTTP(w, r) }
}

// S3 answers with an error of S3, and headers given as pairs of name and value.
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html#RESTErrorResponses
func S3(status int, code, message string, header ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/xml")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	}
}
