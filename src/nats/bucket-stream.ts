/** The stream that a bucket is kept in. */
export const streamOf = (bucket: string): string => `KV_${bucket}`
