package grounding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// measures are the units of measures, as Fact.Unit has them, with their signs.
var measures = map[string]string{
	"g": "g", "gram": "g", "kg": "kg", "kilo": "kg", "mm": "mm", "cm": "cm", "zent": "cm", "m": "m", "mete": "m", "metr": "m", "mètr": "m",
	"inch": "in", "zoll": "in", "pouc": "in", "pulg": "in", "ft": "ft", "feet": "ft", "lb": "lb", "lbs": "lb", "poun": "lb", "oz": "oz", "ounc": "oz",
	"km": "km", "mg": "mg", "ml": "ml", "cl": "cl", "dl": "dl", "l": "l", "lite": "l", "litr": "l", "gal": "gal", "gall": "gal",
	"w": "w", "watt": "w", "kw": "kw", "v": "v", "volt": "v", "bar": "bar", "psi": "psi", "db": "db", "lm": "lm", "lume": "lm", "lúme": "lm", "hz": "hz",
	"°c": "°c", "grad": "°c", "°f": "°f", "km/h": "km/h", "knot": "kn", "nœud": "kn", "nudo": "kn",
	"min": "minute1", "h": "minute60", // as periods have them
}

// scale is how many times a unit is the smallest one of its kind.
type scale struct {
	base  string
	times int64
}

// scales are the units that are a whole number of a smaller one.
var scales = map[string]scale{
	"mg": {"mg", 1}, "g": {"mg", 1000}, "kg": {"mg", 1000_000}, "ml": {"ml", 1}, "cl": {"ml", 10}, "dl": {"ml", 100}, "l": {"ml", 1000},
	"mm": {"mm", 1}, "cm": {"mm", 10}, "m": {"mm", 1000}, "km": {"mm", 1000_000}, "w": {"w", 1}, "kw": {"w", 1000},
}

// metric returns the sign of a metric unit whose word has a prefix, such as "centimetres", of which four letters say too little, or "".
func metric(word string) string {
	word = text.Fold(word)
	for _, prefix := range []string{"centi", "zenti", "milli", "mili", "kilo", "deci", "dezi"} {
		rest, found := strings.CutPrefix(word, prefix)
		for _, unit := range []string{"met", "lit", "gram", "watt"} {
			if found && strings.HasPrefix(rest, unit) {
				return strings.ReplaceAll(prefix[:1], "z", "c") + unit[:1]
			}
		}
	}
	return ""
}

// unitLength is how many characters of a word Fact.Unit has: day and days, Tag and Tagen are one.
const unitLength = 4

// unitWord returns a word in small letters as Fact.Unit has it.
func unitWord(word string) string {
	if len(word) <= unitLength {
		return word
	}
	return cmp.Or(metric(word), text.Head(word, unitLength))
}

// measured returns what a fact measures, in the smallest unit of its kind, and that unit; "": it is no measure and no period.
func (f Fact) measured() (unit string, values []int64) {
	if unitOf(f) == "" || !f.IsNumber() {
		return "", nil
	}
	by, isScaled := periods[f.Unit]
	if !isScaled {
		by, isScaled = scales[measures[f.Unit]]
	}
	values = f.values()
	if !isScaled {
		return measures[f.Unit], values
	}
	for i := range values {
		values[i] *= by.times
	}
	return by.base, values
}

// measuresOf returns the measures of some facts in one unit, the smallest of its kind.
func measuresOf(unit string, facts []Fact) []int64 {
	var out []int64
	for _, f := range facts {
		if of, values := f.measured(); of == unit && len(out) < maxLearned {
			out = append(out, values...)
		}
	}
	return out
}

// isSumOf reports whether a claim is the sum of two measures of the evidence: "with the battery 2.6 kg". Whole ones are too likely to be one by
// chance.
func isSumOf(c claim, evidence []Fact) bool {
	unit, values := c.measured()
	if len(c.others) > 0 || len(values) == 0 || c.values[0]%thousand == 0 {
		return false
	}
	all := measuresOf(unit, evidence)
	return slices.ContainsFunc(all, func(a int64) bool { return slices.Contains(all, values[0]-a) })
}

// isDifference reports whether a claim is the difference of two measures of the evidence: "lighter by 930 g". Small whole ones are too likely
// to be one by chance.
func isDifference(c claim, evidence []Fact) bool {
	unit, values := c.measured()
	if isPeriod(c.Fact) || len(c.others) > 0 || len(values) == 0 || c.values[0] < 10*thousand && c.values[0]%thousand == 0 {
		return false
	}
	all := measuresOf(unit, evidence)
	return isDifferenceOf(values[0], all) || approximate[c.Left] > 0 && slices.ContainsFunc(all, func(a int64) bool {
		return slices.ContainsFunc(all, func(b int64) bool { return isNearly(values[0], a-b) })
	})
}

// yieldsMeasure reports whether a claim is the sum or the difference of two measures or periods that the text names. Of
// short periods, almost any is.
func (d *derivation) yieldsMeasure(c claim) bool {
	unit, values := c.measured()
	isSmall := isPeriod(c.Fact) && len(c.values) > 0 && c.values[0] < 10*thousand
	if len(c.others) > 0 || len(values) == 0 || isSmall {
		return false
	}
	all, v := measuresOf(unit, d.measures), values[0]
	return isDifferenceOf(v, all) || slices.ContainsFunc(all, func(a int64) bool { return 2*a < v && slices.Contains(all, v-a) })
}

// multipliesMeasure reports whether a claim is a measure of the evidence times a quantity that the text has, or divided by one: "five skeins:
// 1,125 m".
func (d *derivation) multipliesMeasure(c claim, evidence []Fact) bool {
	unit, values := c.measured()
	return unit != "" && len(c.others) == 0 && slices.ContainsFunc(measuresOf(unit, evidence), func(one int64) bool {
		return slices.ContainsFunc(d.pieces, func(n int64) bool {
			return n > 1 && slices.ContainsFunc(values, func(v int64) bool { return v == n*one || v*n == one })
		})
	})
}

// isAboutMeasure reports whether a claim rounds a measure of the evidence and says so: "about 15 kg" for 14.9 kg.
func isAboutMeasure(c claim, evidence []Fact) bool {
	unit, values := c.measured()
	return approximate[c.Left] > 0 && len(values) > 0 && slices.ContainsFunc(measuresOf(unit, evidence), func(v int64) bool { return isNearly(values[0], v) })
}

// isConversion reports whether a claim is a number of the evidence in another unit: 1840 g are 1.84 kg and, rounded, 1.8 kg; 2
// years are 24 months.
func isConversion(c claim, evidence []Fact) bool {
	unit, values := c.measured()
	times := scales[measures[c.Unit]].times
	return unit != "" && len(c.others) == 0 && slices.ContainsFunc(evidence, func(f Fact) bool {
		of, exact := f.measured()
		return of == unit && unitOf(f) != unitOf(c.Fact) && slices.ContainsFunc(exact, func(e int64) bool {
			isRounded := func(v int64) bool { return isRestated(v, e, times) }
			return slices.Contains(values, e) || scales[measures[f.Unit]].times < times && slices.ContainsFunc(c.values, isRounded)
		})
	})
}

// isRestated reports whether v is a number in a unit that is times as large, rounded to the decimals of v.
func isRestated(v, small, times int64) bool {
	step := int64(1)
	for step < thousand/10 && v%(step*10) == 0 {
		step *= 10
	}
	diff := v - small/times
	return max(diff, -diff)*2 <= step && v%thousand != 0
}

// hasOtherUnit reports whether the evidence has the number of a period or a measure in other units only: 3 years for 3 months. If
// isText, numbers of other things do not count; without words beside it, a number may be one of any unit.
func hasOtherUnit(f Fact, evidence []Fact, isText bool) bool {
	own := unitOf(f)
	if own == "" {
		return false
	}
	hasOther := false
	for _, o := range evidence {
		if !shareOne(f.values(), o.values()) {
			continue
		}
		if other := unitOf(o); other != "" && other != own {
			hasOther = true
		} else if other != "" || !isText {
			return false
		}
	}
	return hasOther
}

// unitOf returns the unit of a period or a measure in one form, or "".
func unitOf(f Fact) string {
	if p, ok := periods[f.Unit]; ok {
		return p.base + strconv.Itoa(int(p.times))
	}
	return measures[f.Unit]
}
