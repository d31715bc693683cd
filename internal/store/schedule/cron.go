package schedule

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Shortest is the shortest time between two runs.
const Shortest = time.Minute

// mostJitter is how much later than its time a schedule runs at most.
const mostJitter = 30 * time.Minute

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Rule says when a schedule runs, in local time.
type Rule struct{ times cron.Schedule }

// Parse reads a rule of five fields (minute, hour, day of the month, month, weekday), a word such as @daily, or
// "@every 90m".
func Parse(text string) (Rule, error) {
	text = strings.Join(strings.Fields(text), " ")
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return Rule{}, errors.New("a cron rule is in local time; leave the time zone out")
	}
	times, err := parser.Parse(sundays(text))
	if err != nil {
		return Rule{}, fmt.Errorf("%q is no cron rule: %w; give minute, hour, day of the month, month and weekday, as in "+
			`"30 9 * * 1-5"`, text, err)
	}
	if every, ok := times.(cron.ConstantDelaySchedule); ok && every.Delay < Shortest {
		return Rule{}, fmt.Errorf("%q is too often; once a minute is the most", text)
	}
	r := Rule{times}
	if r.Next(time.Now()).IsZero() {
		return Rule{}, fmt.Errorf("%q names a day that does not come within five years", text)
	}
	return r, nil
}

// sundays writes the weekday 7 as 0, since people use both.
func sundays(text string) string {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return text
	}
	days := strings.Split(fields[4], ",")
	for i, d := range days {
		if from, ok := strings.CutSuffix(d, "-7"); ok && from != "7" {
			days[i] = from + "-6,0"
		} else if d == "7" {
			days[i] = "0"
		}
	}
	fields[4] = strings.Join(days, ",")
	return strings.Join(fields, " ")
}

// Next is the first time after t.
func (r Rule) Next(t time.Time) time.Time { return r.times.Next(t.Local()) }

// due is when a schedule with this id runs next: the same time later after each Next, so that schedules of many people
// do not all run on the hour. An interval has its own phase.
func (r Rule) due(id string, t time.Time) time.Time {
	next := r.Next(t)
	if _, every := r.times.(cron.ConstantDelaySchedule); every {
		return next
	}
	most := mostJitter
	if after := r.Next(next); !after.IsZero() {
		most = min(most, after.Sub(next)/2)
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(id)) // it never fails
	return next.Add(time.Duration(sum.Sum32()) * time.Second % max(most, time.Second))
}
