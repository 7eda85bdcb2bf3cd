//! From scan tasks to Arrow record batches, whatever a file's own schema looks like.
//! Spec: "Column Projection"; Parquet in Appendix A.
