/** The common parts of the operations that publish records. */

