//! How frameworks say that a device ran out of memory.
//!
//! For: a worker that failed for want of device memory is told from one that failed for any other reason.
//! Promises: only words that a framework prints when an allocation on a device failed; memory of the host is the kernel's
//! to judge. Looks at the end of the output alone, and only of workers that failed.
//! Never: is certain: a program may print these words, go on, and fail of something else.

/// How much of the end of the output is looked at.
pub const TAIL: usize = 16 << 10;

/// PyTorch, CUDA, ROCm, oneAPI, Ascend, JAX and XLA (also on TPUs), TensorFlow, CuPy, Paddle, MXNet, NCCL, llama.cpp.
pub const WORDS: &[&str] = &[
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "torch.cuda.OutOfMemoryError",
    "torch.OutOfMemoryError",
    "HIP out of memory",
    "HIP error: out of memory",
    "hipErrorOutOfMemory",
    "XPU out of memory",
    "NPU out of memory",
    "MPS backend out of memory",
    "RESOURCE_EXHAUSTED: Out of memory",
    "RESOURCE_EXHAUSTED: Failed to allocate request",
    "RESOURCE_EXHAUSTED: Attempting to allocate",
    "RESOURCE_EXHAUSTED: Attempting to reserve",
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space",
    "OOM when allocating tensor",
    "cupy.cuda.memory.OutOfMemoryError",
    "Out of memory error on GPU",
    "cudaMalloc failed: out of memory",
    "cudaMalloc retry failed: out of memory",
    "Cuda failure 2 'out of memory'",
    "Cuda failure 'out of memory'",
    "HIP failure 'out of memory'",
    "ERROR_OUT_OF_DEVICE_MEMORY",
];

/// Whether the end of a worker's output says so.
pub fn is_told(tail: &[u8]) -> bool {
    let text = String::from_utf8_lossy(tail);
    WORDS.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_framework_is_understood() {
        for line in [
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity)",
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB.",
            "RuntimeError: CUDA error: out of memory",
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 85899345920 bytes.",
            "ResourceExhaustedError: Graph execution error: OOM when allocating tensor with shape[8192,8192]",
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.5G of 15.48G hbm.",
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Attempting to allocate 4.00G. That was not possible. There are 2.91G free.",
            "ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 1.5GB memory on GPU 0",
            "node1:123:456 [0] enqueue.cc:1 NCCL WARN Cuda failure 2 'out of memory'",
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9216.00 MiB on device 0: cudaMalloc failed: out of memory",
            "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
            "E0000 cuda_driver.cc:802] failed to allocate 79.6G from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        ] {
            assert!(is_told(format!("step 1\n{line}\nlast\n").as_bytes()), "{line}");
        }
        assert!(!is_told(b"MemoryError\nKilled\nout of memory\n"), "that is the host");
        assert!(!is_told(b""));
    }
}
