package router

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/offer"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

// Bounds of what is kept between requests. BenchmarkNewClassifier and BenchmarkNewStore show time and memory.
const (
	// maxSets bounds the sets of specialists. Sets differ in what is available to a store, too; one takes about 10 KiB.
	maxSets = 256
	// maxSetBytes is the encoded size from which a set is used for its request only.
	maxSetBytes = 1 << 20
	// maxBases bounds the classifiers of what specialists publish. The four specialists' takes about 3 MiB.
	maxBases = 16
	// maxStores bounds the classifiers of stores with own keywords, for each base: about 6 KB for ten keywords and
	// 120 KB for two hundred.
	maxStores = 4096
)

// specialistSet is the specialists of a request and what is derived from their descriptions. It is immutable.
type specialistSet struct {
	// specialists have no examples and keywords: the base classifier has learned them.
	specialists []*specialistv1.Specialist
	base        *base
	promptLines []string // for each specialist
	output      *agentloop.OutputSchema
}

// base is the classifier of what a set of specialists publishes, and those of the stores that add keywords. Sets that
// differ only in what is available share it.
type base struct {
	*classifier.Classifier
	stores   *cache[*classifier.Classifier]
	examples []*examples // of each specialist; nil: there is no Embedder
}

// rememberedSet is a set that requests may name by its version. The set is gone when its base is, so that sets do not
// keep bases in memory.
type rememberedSet struct {
	set     *specialistSet // without its base
	baseKey string
}

// specialistCache keeps what requests have in common. It is safe for concurrent use.
type specialistCache struct {
	sets  *cache[rememberedSet] // by version
	bases *cache[*base]         // by what the specialists publish

	examples *exampleIndex // nil: there is no Embedder
}

func newSpecialistCache() *specialistCache {
	return &specialistCache{sets: newCache[rememberedSet](maxSets), bases: newCache[*base](maxBases)}
}

// forRequest returns the specialists of a valid request: those that it carries, or those that it names by their version. A set
// is kept under the version that it has, not under the one that the caller claims, so that no caller can change what
// others get. A version that is not known is a *fault.Precondition.
func (c *specialistCache) forRequest(req *routerv1.RouteRequest) (*specialistSet, error) {
	claimed, specialists := req.GetSpecialistsVersion(), req.GetSpecialists()
	switch {
	case len(specialists) == 0:
		if set := c.remembered(claimed); set != nil {
			return set, nil
		}
		return nil, &fault.Precondition{
			Reason: commonv1.ErrorReason_ERROR_REASON_SPECIALISTS_UNKNOWN, Subject: "specialists/" + claimed,
			Description: "this router does not know the specialists of that version, or not any more; send them with the request",
		}
	case claimed == "", proto.Size(&routerv1.RouteRequest{Specialists: specialists}) > maxSetBytes:
		set, _ := c.build(specialists)
		return set, nil
	}
	version, err := offer.Version(specialists)
	if err != nil {
		return nil, fmt.Errorf("remember specialists: %w", err)
	}
	if set := c.remembered(version); set != nil {
		return set, nil
	}
	set, baseKey := c.build(specialists)
	withoutBase := *set
	withoutBase.base = nil
	c.sets.put(version, rememberedSet{&withoutBase, baseKey})
	return set, nil
}

// remembered returns the set of a version, or nil.
func (c *specialistCache) remembered(version string) *specialistSet {
	r, ok := c.sets.get(version)
	if !ok {
		return nil
	}
	b, ok := c.bases.get(r.baseKey)
	if !ok {
		return nil
	}
	set := *r.set
	set.base = b
	return &set
}

// build makes a set, and its base unless that is known.
func (c *specialistCache) build(specialists []*specialistv1.Specialist) (set *specialistSet, baseKey string) {
	baseKey = publishedKey(specialists)
	set = &specialistSet{output: outputSchema(specialists)}
	set.base = c.bases.getOrBuild(baseKey, func() *base {
		return &base{classifier.New(specialists), newCache[*classifier.Classifier](maxStores), c.examples.of(specialists)}
	})
	for _, s := range specialists {
		set.specialists = append(set.specialists, &specialistv1.Specialist{
			Name: s.GetName(), Available: s.GetAvailable(), UnavailableReason: s.GetUnavailableReason(),
		})
		set.promptLines = append(set.promptLines, promptLine(s))
	}
	return set, baseKey
}

// classifier returns the classifier for a store's keywords.
func (s *specialistSet) classifier(keywords []*routerv1.RoutingKeyword) *classifier.Classifier {
	if len(keywords) == 0 {
		return s.base.Classifier
	}
	return s.base.stores.getOrBuild(keywordsKey(keywords), func() *classifier.Classifier {
		return s.base.WithKeywords(keywords)
	})
}

// keywordsOf returns a store's keywords for one specialist.
func keywordsOf(name string, keywords []*routerv1.RoutingKeyword) []*specialistv1.Keyword {
	var out []*specialistv1.Keyword
	for _, k := range keywords {
		if k.GetSpecialist() == name {
			out = append(out, k.GetKeyword())
		}
	}
	return out
}

// unknownNames returns the names in a store's keywords that are none of the specialists', each once, in order.
func unknownNames(names []string, keywords []*routerv1.RoutingKeyword) []string {
	var out []string
	for _, k := range keywords {
		if name := k.GetSpecialist(); !slices.Contains(names, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// publishedKey identifies what a classifier is made of.
func publishedKey(specialists []*specialistv1.Specialist) string {
	d := digest{sha256.New()}
	for _, s := range specialists {
		d.text(s.GetName())
		d.number(uint64(len(s.GetExamples())))
		for _, e := range s.GetExamples() {
			d.text(e)
		}
		d.number(uint64(len(s.GetKeywords())))
		for _, k := range s.GetKeywords() {
			d.keyword(k)
		}
	}
	return string(d.Sum(nil))
}

// keywordsKey identifies a store's keywords.
func keywordsKey(keywords []*routerv1.RoutingKeyword) string {
	d := digest{sha256.New()}
	for _, k := range keywords {
		d.text(k.GetSpecialist())
		d.keyword(k.GetKeyword())
	}
	return string(d.Sum(nil))
}

// digest is a hash of values whose ends count.
type digest struct{ hash.Hash }

func (d digest) number(n uint64) { d.Write(binary.BigEndian.AppendUint64(nil, n)) }

func (d digest) text(s string) {
	d.number(uint64(len(s)))
	d.Write([]byte(s))
}

func (d digest) keyword(k *specialistv1.Keyword) {
	d.text(k.GetTerm())
	d.number(math.Float64bits(k.GetWeight()))
}
