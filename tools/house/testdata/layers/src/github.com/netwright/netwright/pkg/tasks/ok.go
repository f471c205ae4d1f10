package tasks

import _ "fmt"
