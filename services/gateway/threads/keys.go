package threads

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strings"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// The keys of a thread share a bucket, and so a cluster slot: the thread, its messages, its turns, and the queues and journals of
// its requests. A script changes several of them at once. Buckets, of which each store has 1024, spread over the slots.
//
// What is looked up without the thread's id finds its bucket otherwise. The id of a turn names the bucket. A request id has a
// claim in a bucket of its own, which names the thread. A customer's list of threads and a store's list of the turns of a day are
// indexes in buckets of their own.

// bucketAlphabet has 32 letters, so two of them name a bucket.
const bucketAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

// turnPrefix begins the ids of turns. The name of a bucket and a unique id follow.
const turnPrefix = "turn_"

// bucketOf returns the bucket of an id.
func bucketOf(id string) string {
	h := fnv.New32a()
	h.Write([]byte(id))
	n := h.Sum32() % (32 * 32)
	return string([]byte{bucketAlphabet[n/32], bucketAlphabet[n%32]})
}

// turnID makes the id of a turn of a thread from a unique id.
func turnID(threadID, unique string) string { return turnPrefix + bucketOf(threadID) + unique }

func threadKey(storeID, id string) string {
	return state.TaggedKey(storeID, bucketOf(id), "thread", id)
}

func messagesKey(storeID, id string) string {
	return state.TaggedKey(storeID, bucketOf(id), "thread", id, "messages")
}

func turnsKey(storeID, id string) string {
	return state.TaggedKey(storeID, bucketOf(id), "thread", id, "turns")
}

func requestsKey(storeID, id string) string {
	return state.TaggedKey(storeID, bucketOf(id), "thread", id, "requests")
}

// threadQueue is the queue of a thread's turns.
func threadQueue(storeID, id string) string {
	return state.TaggedKey(storeID, bucketOf(id), "thread", id, "queue")
}

// requestName is the name of a request in keys: its id, bound to its caller. The caller's name may be personal, and any text.
func requestName(caller, requestID string) string {
	sum := sha256.Sum256([]byte(caller))
	return hex.EncodeToString(sum[:16]) + "/" + requestID
}

// journalKey is the journal of a request, by its requestName, in a thread.
func journalKey(storeID, threadID, request string) string {
	return state.TaggedKey(storeID, bucketOf(threadID), "thread", threadID, "request", request)
}

// requestQueue is the queue of the turns that want to answer the same request.
func requestQueue(storeID, threadID, request string) string {
	return state.TaggedKey(storeID, bucketOf(threadID), "thread", threadID, "request", request, "queue")
}

// turnKey is the reply of a turn. An id that turnID has not made has a key that does not exist.
func turnKey(storeID, id string) string {
	bucket, _ := strings.CutPrefix(id, turnPrefix)
	return state.TaggedKey(storeID, bucket[:min(2, len(bucket))], "turn", id)
}

// aboutKey is what a turn keeps beside its reply: the shopper's message, and whose it is.
func aboutKey(storeID, id string) string { return turnKey(storeID, id) + ":about" }

// feedbackKey is what was said of a turn.
func feedbackKey(storeID, id string) string { return turnKey(storeID, id) + ":feedback" }

// turnKeys are the keys of a turn: its reply, its message and its feedback.
func turnKeys(storeID, id string) []string {
	return []string{turnKey(storeID, id), aboutKey(storeID, id), feedbackKey(storeID, id)}
}

// dayKey is the list of a store's turns of one UTC day, by time.
func dayKey(storeID, day string) string { return state.TaggedKey(storeID, bucketOf(day), "turns", day) }

// claimKey is the claim of a caller's request id: the hash of the request, and the id of its thread.
func claimKey(storeID, request string) string {
	return state.TaggedKey(storeID, bucketOf(request), "request", request, "claim")
}

// customerKey is the index of a customer's threads by time.
func customerKey(storeID, customerID string) string {
	return state.TaggedKey(storeID, bucketOf(customerID), "customer", customerID, "threads")
}

// The places of what is sealed. What the scripts compare is not: owners, times, counts and the ids of turns.

func messagePlace(storeID, threadID string) seal.Place {
	return seal.Place{Store: storeID, Key: messagesKey(storeID, threadID), Field: "message"}
}

func titlePlace(storeID, threadID string) seal.Place {
	return seal.Place{Store: storeID, Key: threadKey(storeID, threadID), Field: "title"}
}

func summaryPlace(storeID, threadID string) seal.Place {
	return seal.Place{Store: storeID, Key: threadKey(storeID, threadID), Field: "summary"}
}

// shownPlace is the place of the products that a thread's shopper saw last. They are sealed with each turn, and read with the thread.
// The place names the owner, so that a thread does not open for an owner that was changed in Redis.
func shownPlace(storeID, threadID, customer, cart string) seal.Place {
	return seal.Place{Store: storeID, Key: threadKey(storeID, threadID), Field: "shown to " + customer + "/" + cart}
}

func replyPlace(storeID, turnID string) seal.Place {
	return seal.Place{Store: storeID, Key: turnKey(storeID, turnID), Field: "reply"}
}

func aboutPlace(storeID, turnID string) seal.Place {
	return seal.Place{Store: storeID, Key: turnKey(storeID, turnID), Field: "about"}
}

func feedbackPlace(storeID, turnID string) seal.Place {
	return seal.Place{Store: storeID, Key: turnKey(storeID, turnID), Field: "feedback"}
}

// Hash returns a hash of all fields of a request but its id. Requests with the same id and another hash are different requests.
// The hash does not depend on the version of the program or of its libraries, so gateways of two releases agree. Fields that
// this release does not know are ignored.
func Hash(req *gatewayv1.AskRequest) string {
	h := sha256.New()
	write := func(values ...string) { // each with its length before it, and their number before all
		length := binary.BigEndian.AppendUint32(nil, uint32(len(values)))
		h.Write(length)
		for _, v := range values {
			h.Write(binary.BigEndian.AppendUint32(length[:0], uint32(len(v))))
			h.Write([]byte(v))
		}
	}
	write(req.GetStoreId())
	write(req.GetMessage())
	write(req.GetCustomerId())
	write(req.GetCustomerGroups()...)
	write(req.GetCartId())
	write(req.GetThreadId())
	write(req.GetLocale())
	return hex.EncodeToString(h.Sum(nil))
}
