/**
 * Limits that several rooms share, with the unit in the name and the reason in a comment. Any other limit stands in the
 * file that uses it.
 */

// --- requests and resources ---

/** Larger bodies are refused before they are read to the end. */
export const requestBodyBytesMax = 1024 * 1024
/**
 * Members, elements, objects and lists of a body outside of its long lists, and of an entry of one. The largest entry of
 * a published list, a service tag of Azure, has some 10,000.
 */
export const requestValuesMax = 50_000
/** All rules of an IP policy in one request: 100,000 of about 160 bytes each. */
export const rulesBodyBytesMax = 16 * 1024 * 1024
/** A stored resource; its projected value must fit a NATS message with room to spare. */
export const resourceBytesMax = 256 * 1024
export const accountNameBytesMax = 255
/** User-defined data of a resource. */
export const metadataBytesMax = 4096
export const labelsMax = 100
export const hostportsPerEdgeMax = 100
export const aclRulesMax = 100
export const principalsPerCertificateMax = 100
/** Critical options of an SSH certificate, or its extensions. */
export const sshOptionsMax = 20
export const urlsPerReportMax = 100
export const sourcesPerSubscriptionMax = 50
export const destinationsPerSubscriptionMax = 20
export const policiesPerDirectionMax = 20
export const expressionsPerPolicyMax = 10
export const actionsPerPolicyMax = 5
/** The metadata that an action of the type `log` adds to its event. */
export const logMetadataBytesMax = 4096
export const rulesPerIpPolicyMax = 100_000
/** All of them run with each write that can change a decision. */
export const policyTestsPerAccountMax = 1_000
/** Ended ones included. */
export const challengersPerAccountMax = 100
/** Challengers of all accounts that are evaluated at the same time: each pipeline holds them compiled. */
export const challengersEvaluatedMax = 100
/** One runs; the others ended within the last day. So no account alone uses up the bound of all. */
export const challengersEvaluatedPerAccountMax = 10
export const ipPoliciesPerModuleMax = 50
/** Their bans are kept in memory, and counted again when a rule with a list is saved. */
export const bouncersPerAccountMax = 100
/** Deny rules and entries of IP lists: a pull of all takes some seconds of CPU, and a firewall holds no more with ease. */
export const bansPerBouncerMax = 300_000
export const ipListsPerBouncerMax = 50
export const ipListsPerAccountMax = 200
export const ipListEntriesMax = 1_000_000
/** Lines of a list that is text: blank ones and comments count, too. */
export const ipListLinesMax = 2_000_000
export const ipListEntriesPerAccountMax = 5_000_000
/** All entries of an account's lists as they are stored, which every process holds: see `write/list-packing.ts`. */
export const ipListBytesPerAccountMax = 64 * 1024 * 1024
/** All entries of a list in one request, decompressed: a million of 32 bytes each. */
export const ipListBodyBytesMax = 32 * 1024 * 1024
/** A host name has at most 253 characters; the rest of a hostport is short. */
export const hostportCharsMax = 300
export const pageEntriesMax = 100
export const idempotencyKeyCharsMax = 255
/** Changes that a filtered page of the history looks at, all together. */
export const changesSearchedMax = 10_000
/** Deeper JSON is refused before any parser recurses into it. */
export const jsonNestingMax = 64
/** Failed logins per address and minute, over all API processes. Further ones get 429, neither counted nor logged. */
export const failedLoginsPerMinuteMax = 30

// --- store and projection ---

/** Repeated requests with the same idempotency key get the first answer for this long: 24 h. */
export const answerAgeMaxMs = 24 * 60 * 60_000
/** Keys of a bucket written concurrently. */
export const keysAtOnceMax = 64

/** The last time that a Date can hold (ECMA-262, section 21.4.1.1), in milliseconds since the epoch. */
export const timeMsMax = 8.64e15

// --- records ---

export const recordBytesMax = 64 * 1024
export const recordIdCharsMax = 128
/** Lines of a message of records when it is inflated, and of a request that publishes records; blank ones count, too. */
export const recordLinesMax = 20_000
/** A request that publishes records, as it is sent. Log lines are compressed to a tenth. */
export const publishedBodyBytesMax = 4 * 1024 * 1024
/** A message of records, or a request that publishes them, when it is inflated. */
export const inflatedBytesMax = 16 * 1024 * 1024
/** Part of the server's payload limit that stays free for headers. */
export const payloadHeadroomBytes = 64 * 1024

// --- evaluation ---

/** UTF-8 bytes of one expression. */
export const exprBytesMax = 16 * 1024
/** Selections of fields and filters that subscriptions share, cached per kind; lists of IP policies that edges share. */
export const compiledOnceMax = 1000
/** Explanations of the past under way at the same time, and waiting. */
export const pastExplanationsAtOnceMax = 2
export const pastExplanationsWaitingMax = 20

// --- pipeline and delivery ---

/** Share of the records stream's limit at which removal of the oldest processed records stops. */
export const removalStopShare = 0.6
/** A pack is stored when it has this many bytes, if not before. */
export const packBytesTarget = 256 * 1024

// --- what the API shows ---

/** A value to search the log for: the name of a policy is the longest. */
export const logFilterCharsMax = 255
/** Lines a watcher is sent in a second; of more, a sample. */
export const watchedLinesPerSecondMax = 200
/** A trial reports its progress this often. */
export const trialProgressMs = 500

/** A record's own time counts if it is no longer before it was stored: years of 365.25 days. */
export const ownTimeYears = 5
/** Nor longer after: clocks of nodes differ from that of NATS. */
export const ownTimeAheadMinutes = 5
