/** Every bound of the system, with its unit in the name and its reason beside it. */

// --- requests and resources ---

/** Larger bodies are refused before they are read to the end. */
export const requestBodyBytesMax = 1024 * 1024
/** All rules of an IP policy at once: 100,000 of them with some 160 bytes each. */
export const rulesBodyBytesMax = 16 * 1024 * 1024
/** A stored resource; a projected value has to fit a NATS message with room to spare. */
export const resourceBytesMax = 256 * 1024
export const accountNameBytesMax = 255
export const descriptionBytesMax = 255
export const metadataBytesMax = 4096
export const policiesPerDirectionMax = 20
export const expressionsPerPolicyMax = 10
export const actionsPerPolicyMax = 5
/** All expressions of one traffic policy module together. */
export const expressionsPerModuleBytesMax = 64 * 1024
export const logMetadataBytesMax = 4096
export const policyNameBytesMax = 255
export const rulesPerIpPolicyMax = 100_000
export const ipPoliciesPerModuleMax = 50
export const hostportsPerEdgeMax = 100
/** A host name has at most 253 characters; what else stands with it in a rule is short. */
export const hostportCharsMax = 300
export const sourcesPerSubscriptionMax = 50
export const destinationsPerSubscriptionMax = 20
export const urlsPerReportMax = 100
/** What everybody who handles URLs should support: https://www.rfc-editor.org/rfc/rfc9110#section-4.1-5 */
export const urlBytesMax = 8000
export const principalsPerCertificateMax = 100
/** A host name has 253 (RFC 1035, section 2.3.4), a user name mostly 32. */
export const principalBytesMax = 255
/** Critical options of an SSH certificate, and as many extensions: with the longest values, no more than a login takes. */
export const sshOptionsMax = 20
export const sshOptionNameCharsMax = 255
export const sshOptionBytesMax = 4096
/** The longest line that sshd(8) promises to read. */
export const sshPublicKeyCharsMax = 8192
/** Shorter ones can be factored (NIST SP 800-131A); longer ones are refused by OpenSSH (SSHBUF_MAX_BIGNUM). */
export const sshRsaBitsMin = 2048
export const sshRsaBitsMax = 16_384
/** Key pairs made at the same time: RSA's keep a core busy for seconds, and those who write files share the threads. */
export const keyPairsAtOnceMax = 2
export const keyPairsWaitingMax = 32
export const aclRulesMax = 100
/** Draws of something unique: so many in a row are taken only where nearly all there is is taken. */
export const drawsMax = 100
/** A chain of certificates as PEM text: ten of them, some with a hundred names. */
export const certificatePemBytesMax = 64 * 1024
/** Longer chains are built by no public authority, and TLS clients stop following them. */
export const certificatesPerChainMax = 10
/** An RSA key of 8,192 bits takes 6.4 KiB. */
export const privateKeyPemBytesMax = 16 * 1024
/** Shorter keys are refused by TLS libraries (OpenSSL's security level 2); longer ones make each handshake slow. */
export const rsaCertificateKeyBitsMin = 2048
export const rsaCertificateKeyBitsMax = 8192
export const labelsMax = 100
export const labelBytesMax = 255
export const pageEntriesMax = 100
export const idempotencyKeyCharsMax = 255
/** Steps a list's filter may take for one entry: half a millisecond. */
export const listFilterStepsMax = 10_000
/** Lists that are searched side by side; each takes slices of the event loop that requests wait for. */
export const listSearchesAtOnceMax = 2
export const listSearchesWaitingMax = 64
/** Deeper JSON is refused before any parser recurses into it. */
export const jsonNestingMax = 64
export const tokenCharsMin = 16
export const tokenCharsMax = 128
/** Failed logins of one address within a minute, over all API processes; further ones are told to wait, and neither counted nor logged. */
export const failedLoginsPerMinuteMax = 30

// --- store and projection ---

/**
 * Rules of one IP policy that share a key of the bucket: a change rewrites one such chunk. A rule has at most 4.3 KiB
 * of text, 26 KiB where JSON escapes all of it, and a chunk has to fit a NATS message of 1 MiB.
 */
export const rulesPerChunkMax = 32
/** Rules that were staged, and not committed within this time, were left by a dead process. */
export const stagingAbandonedAfterMs = 10 * 60_000
/** Ids of changes that a head remembers: a writer that lost its answer looks for its own among them. */
export const recentChangesMax = 32
/** What a request under an idempotency key was answered is told again for this long: 24 h. */
export const answerAgeMaxMs = 24 * 60 * 60_000
/** Changes left behind by others that are finished side by side. */
export const headsAtOnceMax = 8
/** Keys of a bucket written side by side. */
export const keysAtOnceMax = 64
/** Messages of a stream removed side by side, and before it is looked at again. */
export const removalsAtOnceMax = 64
export const removalsPerPassMax = 10_000
/** Audit events of rules that share a message, and the bytes of their rules: with 2 KiB around each they fit 1 MiB. */
export const ruleEventsPerMessage = 250
export const ruleBytesPerMessage = 256 * 1024

/** Changes that arrive within this time are compiled together; an effect is due within 2 s. */
export const changeCoalesceMs = 200

// --- records ---

export const recordBytesMax = 64 * 1024
export const recordIdCharsMax = 128
/** What another service calls an audit event of its own. */
export const auditIdCharsMax = 128
/** Addresses whose geography is remembered: some 200 bytes each. */
export const geoMemoAddressesMax = 16_384
/** A published message may fill the server's payload limit but for this, the room of headers. */
export const payloadHeadroomBytes = 64 * 1024

// --- evaluation ---

/** Records processed in a row before others have their turn: about a millisecond. */
export const recordsPerTurnMax = 64
/** A view of the configuration is built in slices of this length: records wait no longer than that. */
export const buildSliceMs = 5
/** Compiled serializers kept for the next subscription that selects the same fields. */
export const serializersKeptMax = 1000
/** Rules listed in the explanation of a decision; the reply has to fit a NATS message. */
export const explainedRulesMax = 1000
/** A value in the explanation of a decision. */
export const explainedValueCharsMax = 256

// --- pipeline ---

/** Of the bound of the stream of records: where its oldest processed ones are removed, and down to where. */
export const recordsFullShare = 0.8
export const recordsKeptShare = 0.6
/** A pack below its consumer's floor for this long was left by a killed server. */
export const leftoverPackAfterMs = 60_000
/** A destination is gone for good after this: its packs are swept. */
export const destinationGoneAfterMs = 60 * 60_000

/** Messages of records asked for ahead of the walk, and their bytes going by the last ones. */
export const prefetchMessagesMax = 256
export const prefetchBytesTarget = 16 * 1024 * 1024
/** News of an account takes no longer to a pipeline: who is unknown after that does not exist. */
export const accountNewsMs = 5_000
/** A message that was delivered this often without an end is tried record by record in a process of its own. */
export const deliveriesBeforeQuarantine = 3

/** Endpoints counted for the report of records that no edge serves, one of their names, and those it lists. */
export const unservedEndpointsMax = 100
export const unservedEndpointCharsMax = 100
export const unservedEndpointsListed = 5

// --- packs and delivery ---

/** A pack is stored when it has this many bytes … */
export const packBytesTarget = 256 * 1024
/** … or this old, whichever is first: few packs per second, however many destinations a message is for. */
export const packAgeMaxMs = 400
/** When no input waits, a pack is stored at once, but for one destination no sooner than this after the last. */
export const packIdleSpacingMs = 350
/** What all packs being filled may hold together before pulling stops. */
export const packsBufferedBytesMax = 64 * 1024 * 1024
/** Packs of one destination that one process works on at once. */
export const packsInHandMax = 16
/** Bytes of packs of all destinations that one process works on; fetching waits beyond it. */
export const packsInHandBytesMax = 64 * 1024 * 1024
/** What a request may be set to hold at least; an event that is larger has a request of its own. */
export const requestBytesMin = 64 * 1024

// --- expr ---

/** UTF-8 bytes of one expression. */
export const exprBytesMax = 16 * 1024
export const exprTokensMax = 4096
/** Brackets and `? :` within one another; jexl's parser takes a level of recursion and a walk for each. */
export const exprNestingMax = 32
/** UTF-8 bytes of a text that a function or operator makes. */
export const exprStringBytesMax = 64 * 1024
/** Text given to `matches`: linear time is not bounded time. */
export const exprMatchTextBytesMax = 1024
export const exprPatternCharsMax = 1024
/** Instructions of a compiled pattern; a repetition such as `x{1000}` takes one for each turn. */
export const exprPatternInstructionsMax = 500
/** Patterns in one expression: each may take some 4 ms to compile, and views are built between records. */
export const exprPatternsMax = 20
/** Steps for all expressions of one record, of some 50 ns each: 5 ms, and 100 ms for the worst of patterns. */
export const exprStepsMax = 100_000
