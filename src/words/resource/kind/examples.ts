/** Shared parts of the examples in declarations. The API reference shows the examples, and they work when sent. */

/** A timestamp and random characters, as in every id. */
const suffix = '01KAJ5T2Q8XN4RB6TZ5CDEFGHJ'

/** Readers replace it with a real id in example requests. */
export const exampleId = (idPrefix: string): string => `${idPrefix}${suffix}`

export const exampleSshKey =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEekhwQISFoPRoZP+dmDM2VWXJr4LmqJAmgnB5O743S7 ops@example.com'

/** Generated for the API reference: www.example.com, valid for a hundred years. */
export const exampleCertificate = `-----BEGIN CERTIFICATE-----
MIIBqDCCAU2gAwIBAgIUaDib1gz64v3Rc8fBRULG1b79o5gwCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPd3d3LmV4YW1wbGUuY29tMCAXDTI2MTEyMTE0NDAxMVoYDzIx
MjYxMDI4MTQ0MDExWjAaMRgwFgYDVQQDDA93d3cuZXhhbXBsZS5jb20wWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAATVANxYiwZSFJ/P4BGELcUmgtu2c+HI68OaqqoT
QXogsbnNhgGfZFkrnG9PutvJ5FXLEjDQyRkIM/f/CPHN7rJao28wbTAdBgNVHQ4E
FgQUqDDvNC0TkmI33b0PeZIh3ko2q24wHwYDVR0jBBgwFoAUqDDvNC0TkmI33b0P
eZIh3ko2q24wDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgg93d3cuZXhhbXBs
ZS5jb20wCgYIKoZIzj0EAwIDSQAwRgIhAN3K8ibX1C3uiZvAmj8ge17/TrNln+FR
AtRY4+plr40eAiEA6zBEcXoDk8HFcsfEiM3+4eaP1z5Hus6K3Pk00hnKxT4=
-----END CERTIFICATE-----
`

/** The facts in that certificate. */
export const exampleCertificateFacts = {
  subject_common_name: 'www.example.com',
  not_before: '2026-11-21T14:40:11Z',
  not_after: '2126-10-28T14:40:11Z',
}

export const examplePrivateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcD3N0ap9MQhhAnZl
QMt8kb06v2fERTn1qwmO3vEXzdShRANCAATVANxYiwZSFJ/P4BGELcUmgtu2c+HI
68OaqqoTQXogsbnNhgGfZFkrnG9PutvJ5FXLEjDQyRkIM/f/CPHN7rJa
-----END PRIVATE KEY-----
`
